import { valueOptions, type Node } from './tree.ts'

/**
 * Finds the current command from the words so far, skipping options and their values. Names of machines come
 * from the server, so they are never expanded, and are quoted.
 */
export function bashScript(nodes: readonly Node[]): string {
  return `# bash completion of computer. Load it with: source <(computer completion bash)
_computer() {
  local path='' word next cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" i
  local server=() given=0
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    next="\${path:+$path }$word"
    case "$next" in
      ${paths(nodes)}) path="$next"; continue ;;
    esac
    case "$path $word" in
      ${valueOptions(nodes).map(quote).join(' | ')})
        case "$word" in --profile | --url) server+=("$word" "\${COMP_WORDS[i+1]}") ;; esac
        ((i++)) ;;
      *' -'*) ;;
      *) ((given++)) ;;
    esac
  done
  local commands='' options='' machines=''
  case "$path" in
${nodes.map(caseOf).join('\n')}
  esac
  case "$path $prev" in
${choicesOf(nodes)}
  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
  elif [[ -n $commands ]]; then
    COMPREPLY=($(compgen -W "$commands" -- "$cur"))
  elif [[ -n $machines ]] && ((given == 0 && i == COMP_CWORD)); then
    COMPREPLY=()
    while IFS= read -r word; do
      [[ $word == "$cur"* ]] && COMPREPLY+=("$(printf '%q' "$word")")
    done < <("\${COMP_WORDS[0]}" complete-machines "\${server[@]}" 2>/dev/null)
  else
    COMPREPLY=($(compgen -f -- "$cur"))
  fi
}
complete -F _computer computer
`
}

function paths(nodes: readonly Node[]): string {
  const named = nodes.filter(({ path }) => path !== '')
  return named.map(({ path }) => quote(path)).join(' | ')
}

function caseOf({ path, commands, options, takesMachine }: Node): string {
  const words = commands.map(({ names }) => names[0]).join(' ')
  const flags = options.flatMap(({ names }) => names).join(' ')
  const machines = takesMachine ? ' machines=yes' : ''
  return `    ${quote(path)}) commands=${quote(words)} options=${quote(flags)}${machines} ;;`
}

function choicesOf(nodes: readonly Node[]): string {
  const lines = nodes.flatMap(({ path, options }) =>
    options
      .filter(({ choices }) => choices.length > 0)
      .map(({ names, choices }) => {
        const patterns = names.map((name) => quote(`${path} ${name}`)).join(' | ')
        const reply = `COMPREPLY=($(compgen -W ${quote(choices.join(' '))} -- "$cur"))`
        return `    ${patterns}) ${reply}; return ;;`
      }),
  )
  return lines.join('\n')
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
