import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

/*
 * `npm run check`: everything that can be said about the code without running it. The import rules
 * are the linter's (.oxlintrc.json); a file that is generated is compared with what its generator
 * would write now.
 */
type Check = { readonly name: string; readonly command: readonly string[] }

const checks: readonly Check[] = [
  { name: 'types', command: ['tsc', '-p', '.'] },
  { name: 'lint', command: ['oxlint', '--type-aware'] },
  { name: 'format', command: ['oxfmt', '--check'] },
]

/** Each exits with another code than 0 when its file is not current. */
const generated: readonly Check[] = []

const maxLines = 300
const repoDir = fileURLToPath(new URL('../', import.meta.url))

const results = [await checkLengths()]
for (const check of [...checks, ...generated]) results.push(await runCheck(check))
process.exitCode = results.every(Boolean) ? 0 : 1

async function runCheck({ name, command }: Check): Promise<boolean> {
  const [program, ...args] = command
  const { code, output } = await run(program!, args)
  if (code !== 0) console.log(output.trim())
  return report(name, code === 0)
}

/** Files of code have one subject, so they stay short. */
async function checkLengths(): Promise<boolean> {
  const listed = ['ls-files', '--cached', '--others', '--exclude-standard', '-z']
  const { output } = await run('git', [...listed, '*.ts', '*.tsx', '*.mjs', '*.sh'])
  let isShort = true
  for (const path of new Set(output.split('\0').filter(Boolean))) {
    // A file that is deleted, but not in git yet, has no length.
    const text = await readFile(`${repoDir}${path}`, 'utf8').catch(() => '')
    const lines = text.split('\n').length - 1
    if (lines <= maxLines) continue
    console.log(`${path} has ${lines} lines; split it below ${maxLines}`)
    isShort = false
  }
  return report('length', isShort)
}

function report(name: string, isGood: boolean): boolean {
  console.log(`${isGood ? 'ok  ' : 'FAIL'}  ${name}`)
  return isGood
}

async function run(program: string, args: readonly string[]) {
  const path = `${repoDir}node_modules/.bin:${process.env['PATH'] ?? ''}`
  const child = spawn(program, args, {
    cwd: repoDir,
    env: { ...process.env, PATH: path },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  }
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, output }
}
