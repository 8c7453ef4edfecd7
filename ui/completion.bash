# bash completion for zreel: `zreel completion bash`. The words come from the program itself.
# bash cuts words at = and : too, and replaces only the last piece; the pieces are put together again here, and
# what stands before the last piece is taken off the answers.
_zreel()
{
	local IFS=$'\n' words=() rest=${COMP_LINE:0:COMP_POINT} piece answer directive line word cut i

	for ((i = 0; i <= COMP_CWORD; i++)); do
		piece=${COMP_WORDS[i]}
		if ((i > 0)) && [[ $rest != [[:space:]]* && -n $rest ]]; then
			words[${#words[@]} - 1]+=$piece
		else
			rest=${rest#"${rest%%[![:space:]]*}"}
			words+=("$piece")
		fi
		rest=${rest#"$piece"}
	done
	word=${words[${#words[@]} - 1]}
	# readline puts an opening quote back by itself.
	if [[ $word == [\'\"]* ]]; then
		word=${word:1}
		words[${#words[@]} - 1]=$word
		COMP_WORDS[COMP_CWORD]=${COMP_WORDS[COMP_CWORD]#[\'\"]}
	fi
	cut=${word%"${COMP_WORDS[COMP_CWORD]}"}
	# Right behind a = the piece is that sign itself.
	[[ ${COMP_WORDS[COMP_CWORD]} == [=:] ]] && cut=$word
	answer=$("${words[0]}" completion words "${words[@]:1}" 2>/dev/null) || return 0
	directive=${answer%%$'\n'*}
	COMPREPLY=()
	while read -r line; do
		line=${line%%$'\t'*}
		[[ $line == "$cut"* ]] && COMPREPLY+=("${line#"$cut"}")
	done < <(printf '%s\n' "$answer" | tail -n +2)
	case $directive in
	files)
		word=${word#"$cut"}
		compopt -o filenames 2>/dev/null
		while read -r line; do
			COMPREPLY+=("$line")
		done < <(compgen -f -- "$word")
		;;
	nospace) compopt -o nospace 2>/dev/null ;;
	esac
	return 0
}
complete -F _zreel zreel
