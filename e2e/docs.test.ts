import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import type { RealServer } from './harness/server.ts'
import { joinServer } from './harness/shared-server.ts'

/* Runs the commands of the README and the guides exactly as written. */

const run = promisify(execFile)
let server: RealServer
let folder: string

before(async () => {
  server = await joinServer()
  folder = await mkdtemp(join(tmpdir(), 'computer-docs-'))
})
after(async () => {
  await rm(folder, { recursive: true, force: true })
  await server[Symbol.asyncDispose]()
})

test("the README's first use works as written", async () => {
  const [firstUse] = await readBlocks('README.md', '## First use')
  const output = await bash([firstUse!])
  assert.match(output, /Linux first/)
  assert.match(output, /"state":"stopped"/)
  assert.match(output, /"state":"deleting"/)
  const screen = await readFile(join(folder, 'screen.png'))
  assert.equal(screen.subarray(1, 4).toString(), 'PNG')
})

test('the desktop guide works as written', async () => {
  const [firstUse] = await readBlocks('README.md', '## First use')
  const [setUp] = firstUse!.split('# Run a command in it.')
  const blocks = await readBlocks('docs/desktop.md', '# Seeing')
  assert.ok(blocks.length >= 4)
  // The guide's second half writes to the clipboard, which needs the lease its first half released.
  const again = '{ "session_id": "%s" }'
  const lease = `curl -sf $api/v1/machines/$id/input-lease -H "$key" -H "$json" -d "$(printf '${again}' $session)"`
  const script = [
    setUp!.replace('"first"', '"guide"'),
    ...blocks.slice(0, -1),
    lease,
    blocks.at(-1)!,
  ]
  const output = await bash(script)
  assert.match(output, /"up":true/)
  assert.match(output, /"fence":\d/)
  assert.match(output, /"selection":"primary"/)
  assert.ok((await stat(join(folder, 'screen.webp'))).size > 1000)
})

test('the guide to snapshots, forks and templates works as written', async () => {
  const [firstUse] = await readBlocks('README.md', '## First use')
  const [setUp] = firstUse!.split('# Run a command in it.')
  const blocks = await readBlocks('docs/snapshots-forks-templates.md', '## Take a snapshot')
  assert.equal(blocks.length, 6)
  const output = await bash([setUp!.replace('"first"', '"source"'), ...blocks])
  assert.match(output, /"content":"the good plan"/)
  assert.equal(output.match(/"stdout":"the good plan"/g)?.length, 2)
  assert.match(output, /"name":"Before restore".*"state":"deleting"/)
})

test('the guide to files and commands works as written', async () => {
  const [firstUse] = await readBlocks('README.md', '## First use')
  const [setUp] = firstUse!.split('# Run a command in it.')
  const text = await readFile(new URL('../docs/files-and-terminals.md', import.meta.url), 'utf8')
  const blocks = blocksOf(text.slice(0, text.indexOf('## Terminals')))
  assert.ok(blocks.length >= 5)
  const output = await bash([setUp!.replace('"first"', '"files"'), ...blocks])
  assert.match(output, /"content":"Grüße\\n"/)
  assert.match(output, /"size":1000000/)
  assert.match(output, /notes\/b\.txt/)
  assert.match(output, /"stdout":"\/home\/agent\\n".*"exit_code":3/)
  assert.equal((await readFile(join(folder, 'part.bin'))).toString(), 'Grü')
})

test('the guide to previews works as written', async () => {
  const [firstUse] = await readBlocks('README.md', '## First use')
  const [setUp] = firstUse!.split('# Run a command in it.')
  const [publish, use] = await readBlocks('docs/previews.md', '# Previews')
  const blocks = await readBlocks('docs/previews.md', '### On one host, without DNS')
  const trust = blocks.find((block) => block.startsWith('export '))
  const output = await bash([setUp!.replace('"first"', '"web"'), publish!, trust!, use!])
  assert.match(output, /Directory listing for \//)
  assert.match(output, /"data":\[\{"id":"prv_/)
})

/** The bash blocks that follow a heading, up to the end of the file. */
async function readBlocks(file: string, heading: string): Promise<string[]> {
  const text = await readFile(new URL(`../${file}`, import.meta.url), 'utf8')
  const part = text.slice(text.indexOf(heading))
  return blocksOf(part)
}

function blocksOf(text: string): string[] {
  return [...text.matchAll(/```bash\n([\s\S]*?)```/g)].map((match) => match[1]!)
}

async function bash(blocks: readonly string[]): Promise<string> {
  const { stdout } = await run('bash', ['-e', '-c', blocks.join('\n')], {
    cwd: folder,
    timeout: 120_000,
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, ...server.guideEnv },
  })
  return stdout
}
