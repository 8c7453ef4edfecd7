/* SPDX-License-Identifier: MIT */
/* Visible characters out of any bytes; see text.h. */
#include "ui/text.h"

#include <langinfo.h>
#include <string.h>
#include <wchar.h>

/* Smallest code point of a sequence of 1 to 4 bytes: a longer one than needed is not UTF-8. */
static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };

static int sequence_length(unsigned char lead)
{
	if (lead < 0x80)
		return 1;
	if (lead >= 0xc2 && lead < 0xe0)
		return 2;
	if (lead >= 0xe0 && lead < 0xf0)
		return 3;
	return lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
}

uint32_t ui_utf8_next(const char **text)
{
	const unsigned char *p = (const unsigned char *)*text;
	int length = sequence_length(*p);
	uint32_t code;

	if (*p == '\0')
		return 0;
	*text += 1;
	if (length <= 1)
		return length ? *p : UI_REPLACEMENT;
	code = *p & (0x7fu >> length);
	for (int i = 1; i < length; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return UI_REPLACEMENT;
		code = code << 6 | (p[i] & 0x3f);
	}
	if (code < smallest[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return UI_REPLACEMENT;
	*text += length - 1;
	return code;
}

size_t ui_utf8_put(uint32_t code, char bytes[4])
{
	if (code < 0x80) {
		bytes[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		bytes[0] = (char)(0xc0 | code >> 6);
		bytes[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		bytes[0] = (char)(0xe0 | code >> 12);
		bytes[1] = (char)(0x80 | (code >> 6 & 0x3f));
		bytes[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	bytes[0] = (char)(0xf0 | code >> 18);
	bytes[1] = (char)(0x80 | (code >> 12 & 0x3f));
	bytes[2] = (char)(0x80 | (code >> 6 & 0x3f));
	bytes[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

bool ui_is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e ||
	       code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

static struct ui_char visible(uint32_t code, bool ascii)
{
	int width;

	if (ascii)
		return (struct ui_char){ code < 0x80 && !ui_is_control(code) ? code : '?', 1 };
	if (ui_is_control(code))
		return (struct ui_char){ UI_REPLACEMENT, 1 };
	width = wcwidth((wchar_t)code);
	if (width < 0)
		return (struct ui_char){ UI_REPLACEMENT, 1 };
	return (struct ui_char){ code, width };
}

struct ui_char ui_char_next(const char **text, bool ascii)
{
	for (;;) {
		uint32_t code = ui_utf8_next(text);
		struct ui_char c;

		if (code == 0)
			return (struct ui_char){ 0, 0 };
		c = visible(code, ascii);
		if (c.width > 0)
			return c;
	}
}

int ui_text_width(const char *text, bool ascii)
{
	int width = 0;
	struct ui_char c;

	while ((c = ui_char_next(&text, ascii)).code)
		width += c.width;
	return width;
}

void ui_put_clean(FILE *out, const char *text)
{
	bool ascii = ui_locale_is_ascii();
	struct ui_char c;

	while ((c = ui_char_next(&text, ascii)).code) {
		char bytes[4];

		fwrite(bytes, 1, ui_utf8_put(c.code, bytes), out);
	}
}

bool ui_locale_is_ascii(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
}
