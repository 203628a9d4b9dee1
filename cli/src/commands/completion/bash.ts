import type { Node } from './tree.ts'

/** Finds the current command from the words so far, skipping options and their values. */
export function bashScript(nodes: readonly Node[]): string {
  return `# bash completion of computer. Load it with: source <(computer completion bash)
_computer() {
  local path='' word next cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    next="\${path:+$path }$word"
    case "$next" in
      ${nodes
        .filter(({ path }) => path !== '')
        .map(({ path }) => quote(path))
        .join(' | ')}) path="$next" ;;
    esac
  done
  local commands='' options=''
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
  else
    COMPREPLY=($(compgen -f -- "$cur"))
  fi
}
complete -F _computer computer
`
}

function caseOf({ path, commands, options }: Node): string {
  const words = commands.map(({ names }) => names[0]).join(' ')
  const flags = options.flatMap(({ names }) => names).join(' ')
  return `    ${quote(path)}) commands=${quote(words)} options=${quote(flags)} ;;`
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
