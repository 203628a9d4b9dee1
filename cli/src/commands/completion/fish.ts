import type { Node } from './tree.ts'

/** Emits one `complete` line per word, guarded by the command path it may follow. */
export function fishScript(nodes: readonly Node[]): string {
  const paths = nodes.filter(({ path }) => path !== '').map(({ path }) => quote(path))
  return `# fish completion of computer. Load it with: computer completion fish | source
function __computer_at
  set -l path
  for word in (commandline -opc)[2..]
    set -l next (string join ' ' $path $word)
    contains -- $next ${paths.join(' ')}; and set path $next
  end
  test "$path" = "$argv[1]"
end
complete -c computer -f -n '__computer_at ""'
${nodes.flatMap(linesOf).join('\n')}
`
}

function linesOf({ path, commands, options }: Node): string[] {
  const line = `complete -c computer -n ${quote(`__computer_at "${path}"`)}`
  const words = commands.map(
    ({ names, description }) => `${line} -f -a ${quote(names[0]!)} -d ${quote(description)}`,
  )
  const flags = options.map(({ names, description, takesValue, choices }) => {
    const spelled = names.map((name) =>
      name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`,
    )
    const value =
      choices.length > 0 ? ` -x -a ${quote(choices.join(' '))}` : takesValue ? ' -r' : ''
    return `${line} ${spelled.join(' ')}${value} -d ${quote(description)}`
  })
  return [...words, ...flags]
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
