import type { Node, Word } from './tree.ts'

/** Like the bash script, with a description beside each word. */
export function zshScript(nodes: readonly Node[]): string {
  const paths = nodes.filter(({ path }) => path !== '').map(({ path }) => quote(path))
  return `#compdef computer
# zsh completion of computer. Load it with: source <(computer completion zsh)
_computer() {
  local place='' word next previous="\${words[CURRENT-1]}"
  local -a commands options
  local -i i
  for ((i = 2; i < CURRENT; i++)); do
    word="\${words[i]}"
    next="\${place:+$place }$word"
    case "$next" in
      ${paths.join('|')}) place="$next" ;;
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
  else
    _files
  fi
}
if [[ "$funcstack[1]" == _computer ]]; then _computer "$@"; else compdef _computer computer; fi
`
}

function caseOf({ path, commands, options }: Node): string {
  const words = commands.map((word) => described(word, word.names.slice(0, 1)))
  const flags = options.map((word) => described(word, word.names))
  return `    ${quote(path)})
      commands=(${words.join(' ')})
      options=(${flags.join(' ')}) ;;`
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
