import type { Node } from './tree.ts'

/** Each word that can follow is one line, which holds where its command stands. */
export function fishScript(nodes: readonly Node[]): string {
  const paths = nodes.filter(({ path }) => path !== '').map(({ path }) => quote(path))
  return `# fish completion of computer. Load it with: computer completion fish | source
function __computer_place
  set -l place
  for word in (commandline -opc)[2..]
    set -l next (string join ' ' $place $word)
    contains -- $next ${paths.join(' ')}; and set place $next
  end
  test "$place" = "$argv[1]"
end
complete -c computer -f -n '__computer_place ""'
${nodes.flatMap(linesOf).join('\n')}
`
}

function linesOf({ path, commands, options }: Node): string[] {
  const line = `complete -c computer -n ${quote(`__computer_place "${path}"`)}`
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
