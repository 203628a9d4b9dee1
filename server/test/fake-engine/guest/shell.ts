// A shell is a command that runs commands.
// oxlint-disable-next-line import/no-cycle
import { commands, type Process } from './commands.ts'
import { GuestFault } from './fault.ts'

/**
 * `sh -c` for what tests and a first look at a machine need: words, quotes, variables, `;`, `&&`,
 * `||`, pipes, `>`, `>>`, `<`, `2>&1`, `2>/dev/null`, `cd`, `export` and `exit`.
 */
export async function runShell(process: Process, args: readonly string[]): Promise<number> {
  const flag = args[0] ?? ''
  if (!/^-[a-z]*c$/.test(flag)) return fail(process, 'sh: only "sh -c" is known here', 2)
  const tokens = tokenize(args[1] ?? '')
  if (!tokens) return fail(process, 'sh: unterminated quoted string', 2)
  let status = 0
  let joint = ';'
  for (const { pipeline, end } of splitPipelines(tokens)) {
    const skipped = (joint === '&&' && status !== 0) || (joint === '||' && status === 0)
    if (!skipped && pipeline.length > 0) {
      const [first] = pipeline[0]!
      if (first?.text === 'exit' && first.kind === 'word') {
        return Number(expand(pipeline[0]![1], process, status) || status)
      }
      status = await runPipeline(process, pipeline, status)
      if (process.budget.leftMs <= 0 || process.signal.aborted) return status
    }
    joint = end
  }
  return status
}

type Token = {
  readonly kind: 'word' | 'operator'
  readonly text: string
  /** Pieces of a word, each quoted in its own way. */
  readonly parts?: readonly Part[]
}
type Part = { text: string; readonly quote: '"' | "'" | '' | '\\' }

const operators = ['2>&1', '&&', '||', '>>', '2>', ';', '|', '>', '<', '\n'] as const

function tokenize(script: string): Token[] | null {
  const tokens: Token[] = []
  let parts: Part[] | null = null
  const endWord = () => {
    if (parts) tokens.push({ kind: 'word', text: parts.map((part) => part.text).join(''), parts })
    parts = null
  }
  for (let at = 0; at < script.length;) {
    const char = script[at]!
    const operator = operators.find(
      (candidate) =>
        script.startsWith(candidate, at) && !(candidate.startsWith('2') && parts !== null),
    )
    if (operator) {
      endWord()
      tokens.push({ kind: 'operator', text: operator === '\n' ? ';' : operator })
      at += operator.length
    } else if (char === ' ' || char === '\t') {
      endWord()
      at += 1
    } else if (char === "'" || char === '"') {
      const end = script.indexOf(char, at + 1)
      if (end < 0) return null
      parts ??= []
      parts.push({ text: script.slice(at + 1, end), quote: char })
      at = end + 1
    } else {
      const quote = char === '\\' ? char : ''
      const text = quote ? (script[at + 1] ?? '') : char
      parts ??= []
      const last = parts.at(-1)
      if (last?.quote === quote) last.text += text
      else parts.push({ text, quote })
      at += quote ? 2 : 1
    }
  }
  endWord()
  return tokens
}

function splitPipelines(tokens: readonly Token[]): { pipeline: Token[][]; end: string }[] {
  const result: { pipeline: Token[][]; end: string }[] = []
  let pipeline: Token[][] = []
  let command: Token[] = []
  const endPipeline = (end: string) => {
    if (command.length > 0) pipeline.push(command)
    result.push({ pipeline, end })
    pipeline = []
    command = []
  }
  for (const token of tokens) {
    const joint = token.kind === 'operator' ? token.text : ''
    if (joint === ';' || joint === '&&' || joint === '||') endPipeline(joint)
    else if (joint === '|') {
      pipeline.push(command)
      command = []
    } else command.push(token)
  }
  endPipeline(';')
  return result
}

async function runPipeline(process: Process, pipeline: Token[][], last: number): Promise<number> {
  let { stdin } = process
  let status = 0
  for (const [index, tokens] of pipeline.entries()) {
    const piped: Buffer[] = []
    const isLast = index === pipeline.length - 1
    const out = isLast ? process.out : (bytes: string | Buffer) => piped.push(Buffer.from(bytes))
    try {
      status = await runSimple(process, { stdin, out }, tokens, last)
    } catch (error) {
      if (!(error instanceof GuestFault)) throw error
      status = fail(process, `sh: ${error.message}`)
    }
    stdin = Buffer.concat(piped)
  }
  return status
}

async function runSimple(
  shell: Process,
  { stdin, out }: Pick<Process, 'stdin' | 'out'>,
  tokens: readonly Token[],
  last: number,
): Promise<number> {
  const process: Process = { ...shell, stdin, out }
  const { disk, cwd } = shell
  const words: string[] = []
  const written: Buffer[] = []
  let target: { path: string; append: boolean } | null = null
  for (let index = 0; index < tokens.length; index += 1) {
    const token = tokens[index]!
    if (token.kind === 'word') words.push(expand(token, shell, last))
    else if (token.text === '2>&1') Object.assign(process, { err: process.out })
    else {
      const path = expand(tokens[(index += 1)], shell, last)
      if (token.text === '2>') Object.assign(process, { err: () => {} })
      else if (token.text === '<') {
        Object.assign(process, { stdin: disk.read(disk.resolve(path, cwd)).bytes })
      } else {
        target = { path, append: token.text === '>>' }
        process.out = (bytes) => written.push(Buffer.from(bytes))
      }
    }
  }
  const status = await runWords(shell, process, words)
  if (target && target.path !== '/dev/null') {
    const { append } = target
    const options = { append, createParents: false, owner: shell.user }
    disk.write(disk.resolve(target.path, cwd), Buffer.concat(written), options)
  }
  return status
}

function runWords(
  shell: Process,
  process: Process,
  [name, ...args]: readonly string[],
): number | Promise<number> {
  if (name === undefined || name === ':') return 0
  const assignment = /^(?:export )?([A-Za-z_]\w*)=(.*)$/s.exec(
    name === 'export' ? `export ${args[0]}` : name,
  )
  if (assignment) {
    shell.env[assignment[1]!] = assignment[2]!
    return 0
  }
  if (name === 'cd') {
    const path = shell.disk.resolve(args[0] ?? shell.env['HOME'] ?? '/', shell.cwd)
    if (shell.disk.find(path)?.type !== 'directory')
      return fail(process, `cd: ${path}: no such directory`)
    shell.cwd = path
    return 0
  }
  const command = commands.get(name.slice(name.lastIndexOf('/') + 1))
  if (!command) return fail(process, `sh: ${name}: not found`, 127)
  return command(process, args)
}

function expand(token: Token | undefined, process: Process, last: number): string {
  const names = /\$(?:\{(\w+)\}|([A-Za-z_]\w*)|(\?))/g
  const valueOf = (_: string, braced?: string, bare?: string, status?: string) =>
    status ? String(last) : (process.env[braced ?? bare ?? ''] ?? '')
  return (token?.parts ?? [])
    .map(({ text, quote }) => (quote === '"' || quote === '' ? text.replace(names, valueOf) : text))
    .join('')
}

function fail(process: Process, message: string, exitCode = 1): number {
  process.err(`${message}\n`)
  return exitCode
}
