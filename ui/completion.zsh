#compdef zreel
# zsh completion for zreel: `zreel completion zsh`. The words come from the program itself.
_zreel() {
	local -a lines candidates
	local line directive

	lines=("${(@f)$("${words[1]}" completion words "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
	directive=${lines[1]}
	for line in "${(@)lines[2,-1]}"; do
		candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
	done
	case $directive in
	files) compset -P '--*='; _files ;;
	nospace) (( $#candidates )) && _describe -V zreel candidates -S '' ;;
	*) (( $#candidates )) && _describe -V zreel candidates ;;
	esac
}
if [ "$funcstack[1]" = _zreel ]; then
	_zreel "$@"
else
	compdef _zreel zreel
fi
