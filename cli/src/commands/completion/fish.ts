import { valueOptions, type Node } from './tree.ts'

/**
 * Emits one `complete` line per word, guarded by the command path it may follow. fish quotes the names of
 * machines, which are one a line.
 */
export function fishScript(nodes: readonly Node[]): string {
  const paths = nodes.filter(({ path }) => path !== '').map(({ path }) => quote(path))
  return `# fish completion of computer. Load it with: computer completion fish | source
function __computer_at
  set -l path
  set -l given 0
  set -l skip no
  for word in (commandline -opc)[2..]
    if test $skip = yes
      set skip no
      continue
    end
    set -l next (string join ' ' -- $path $word)
    if contains -- $next ${paths.join(' ')}
      set path $next
    else if contains -- "$path $word" ${valueOptions(nodes).map(quote).join(' ')}
      set skip yes
    else if not string match -q -- '-*' $word
      set given (math $given + 1)
    end
  end
  test "$path" = "$argv[1]"; and test "$argv[2]" = '' -o "$argv[2]" = $given
end
function __computer_machines
  set -l words (commandline -opc)
  set -l server
  for at in (seq 2 (count $words))
    contains -- $words[$at] --profile --url; and set -a server $words[$at] $words[(math $at + 1)]
  end
  $words[1] complete-machines $server 2>/dev/null
end
complete -c computer -f -n '__computer_at ""'
${nodes.flatMap(linesOf).join('\n')}
`
}

function linesOf({ path, commands, options, takesMachine }: Node): string[] {
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
  const guard = quote(`__computer_at "${path}" 0`)
  const machines = `complete -c computer -n ${guard} -f -a '(__computer_machines)'`
  return [...words, ...flags, ...(takesMachine ? [machines] : [])]
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
