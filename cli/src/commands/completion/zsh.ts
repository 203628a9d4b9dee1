import { valueOptions, type Node, type Word } from './tree.ts'

/** Like the bash script, with a description beside each word. `compadd` quotes. */
export function zshScript(nodes: readonly Node[]): string {
  const paths = nodes.filter(({ path }) => path !== '').map(({ path }) => quote(path))
  return `#compdef computer
# zsh completion of computer. Load it with: source <(computer completion zsh)
_computer() {
  local place='' word next previous="\${words[CURRENT-1]}" machines=''
  local -a commands options server names
  local -i i given=0
  for ((i = 2; i < CURRENT; i++)); do
    word="\${words[i]}"
    next="\${place:+$place }$word"
    case "$next" in
      ${paths.join('|')}) place="$next"; continue ;;
    esac
    case "$place $word" in
      ${valueOptions(nodes).map(quote).join('|')})
        case "$word" in (--profile|--url) server+=("$word" "\${words[i+1]}") ;; esac
        (( i++ )) ;;
      *' -'*) ;;
      *) (( given++ )) ;;
    esac
  done
  case "$place $previous" in
${choicesOf(nodes)}
  esac
  case "$place" in
${nodes.map(caseOf).join('\n')}
  esac
  if [[ "\${words[CURRENT]}" == -* ]]; then
    _describe -o option options
  elif (( $#commands )); then
    _describe command commands
  elif [[ -n "$machines" ]] && (( given == 0 && i == CURRENT )); then
    names=("\${(@f)$("\${words[1]}" complete-machines "\${server[@]}" 2>/dev/null)}")
    compadd -- "\${(@)names:#}"
  else
    _files
  fi
}
if [[ "$funcstack[1]" == _computer ]]; then _computer "$@"; else compdef _computer computer; fi
`
}

function caseOf({ path, commands, options, takesMachine }: Node): string {
  const words = commands.map((word) => described(word, word.names.slice(0, 1)))
  const flags = options.map((word) => described(word, word.names))
  return `    ${quote(path)})
      commands=(${words.join(' ')})
      options=(${flags.join(' ')})${takesMachine ? ' machines=yes' : ''} ;;`
}

function choicesOf(nodes: readonly Node[]): string {
  const lines = nodes.flatMap(({ path, options }) =>
    options
      .filter(({ choices }) => choices.length > 0)
      .map(({ names, choices }) => {
        const patterns = names.map((name) => quote(`${path} ${name}`)).join('|')
        // An unescaped colon starts a description.
        const words = choices.map((choice) => quote(choice.replaceAll(':', '\\:')))
        return `    ${patterns}) commands=(${words.join(' ')}); _describe value commands; return ;;`
      }),
  )
  return lines.join('\n')
}

function described({ description }: Word, names: readonly string[]): string {
  return names.map((name) => quote(`${name}:${description}`)).join(' ')
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
