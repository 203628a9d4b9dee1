import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startServer } from './server.ts'

const run = promisify(execFile)
const repoDir = fileURLToPath(new URL('../../', import.meta.url))
const folder = await mkdtemp(join(tmpdir(), 'computer-sdk-'))
after(() => rm(folder, { recursive: true, force: true }))
const server = await startServer({ after })

const program = `
import { ApiError, Computer, type Machine } from '@computer/sdk'
import { anthropicComputerTool } from '@computer/sdk/anthropic'
import { openAiComputerTool } from '@computer/sdk/openai'
import { limits, machineTransitions } from '@computer/sdk/tables'

await using computer = new Computer()
const machine: Machine = await computer.machines.create({ name: 'packed', metadata: { a: 'b' } })
const { width }: { width: number } = await machine.screenshot()
await machine.mouse.click(1, 1)
const { tool } = await anthropicComputerTool(machine)
const other = (await openAiComputerTool(machine)).tool
// @ts-expect-error: not a valid size
const wrong = () => computer.machines.create({ size: 'enormous' })
const longest: 63 = limits.machineName.maxLength
if (!machineTransitions[machine.state].includes('stopping')) throw new Error(String(longest))
try {
  await computer.machines.get('mch_01kaj0v3m8q4t2x6y9z1b5c7d3')
} catch (error) {
  if (!(error instanceof ApiError)) throw error
  console.log(error.code, width === tool.display_width_px, other.type, typeof wrong)
}
await machine.delete()
`

test('the published package installs, type-checks and runs in an empty project', async () => {
  const env = {
    ...process.env,
    PATH: `${repoDir}node_modules/.bin:${process.env['PATH']}`,
    COMPUTER_API_KEY: server.key,
    COMPUTER_BASE_URL: server.baseUrl,
    COMPUTER_GATEWAY_URL: server.gatewayUrl,
  }
  const built = await run(process.execPath, [join(repoDir, 'scripts/build-sdk.ts')], { env })
  assert.match(built.stdout, /\d+ bytes in a browser/)
  const inFolder = { cwd: folder, env }
  await run('npm', ['pack', join(repoDir, 'build/sdk'), '--silent'], inFolder)
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
  const install = ['install', './computer-sdk-0.1.0.tgz', '--offline', '--no-audit', '--no-fund']
  await run('npm', install, inFolder)
  const manifest = join(folder, 'node_modules/@computer/sdk/package.json')
  const { dependencies, version } = JSON.parse(await readFile(manifest, 'utf8'))
  assert.deepEqual([dependencies, version], [undefined, '0.1.0'])

  await writeFile(join(folder, 'program.ts'), program)
  const strict = ['--strict', '--exactOptionalPropertyTypes', '--module', 'nodenext']
  const target = ['--target', 'es2022', '--lib', 'es2022,esnext.disposable,dom', '--types', '']
  await run('tsc', [...strict, ...target, 'program.ts'], inFolder)
  const { stdout } = await run(process.execPath, ['program.js'], inFolder)
  assert.equal(stdout, 'not_found true computer function\n')
})
