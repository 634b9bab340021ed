# Complete the commands and options of manage.py in bash. In the folder of the repository, run: . deploy/completion.bash
# It works for `./manage.py`, `manage.py` and `.venv/bin/python manage.py`.

_manage_py() {
    local words=("${COMP_WORDS[@]}") number=$COMP_CWORD
    while [[ ${#words[@]} -gt 0 && ${words[0]##*/} != manage.py ]]; do
        words=("${words[@]:1}")
        number=$((number - 1))
    done
    [[ ${#words[@]} -gt 0 && $number -gt 0 ]] || return
    mapfile -t COMPREPLY < <(
        DJANGO_AUTO_COMPLETE=1 COMP_WORDS="${words[*]}" COMP_CWORD=$number \
            "${COMP_WORDS[@]:0:${#COMP_WORDS[@]}-${#words[@]}+1}" 2>/dev/null | tr ' ' '\n'
    )
}

complete -o default -F _manage_py manage.py ./manage.py python python3 .venv/bin/python
