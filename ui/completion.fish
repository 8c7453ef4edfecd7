# fish completion for zreel: `zreel completion fish`. The words come from the program itself.
function __zreel_complete
    set -l typed (commandline -opc)
    set -l answer ($typed[1] completion words $typed[2..-1] (commandline -ct) 2>/dev/null)
    test (count $answer) -gt 0; or return
    if test $answer[1] = files
        __fish_complete_path (commandline -ct)
    end
    for line in $answer[2..-1]
        echo $line
    end
end
complete -c zreel -f -a '(__zreel_complete)'
