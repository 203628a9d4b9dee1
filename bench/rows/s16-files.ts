import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { buildCli } from '../../cli/build.ts'
import { withMachine } from '../machine.ts'
import type { Sample } from '../measure.ts'
import { compareRounds, type Bench, type BenchContext, type Row } from '../row.ts'
import { runRounds, time } from '../rounds.ts'

/** Files written to a machine and read from it, verified by checksum. */
export const bench: Bench = {
  name: 's16-files',
  title: 'files in and out',
  run: (context) =>
    withMachine(context.api, 's16', async ({ id }) => {
      const folder = await mkdtemp(join(tmpdir(), 'computer-bench-files-'))
      try {
        return [
          await measureWrites(context, id, folder),
          await measureReads(context, id, folder),
          ...(await measureFolders(context, id, folder)),
        ]
      } finally {
        await rm(folder, { recursive: true })
      }
    }),
}

const fileCount = 1_000
const fileBytes = 1_024
const largeBytes = 64 * 1024 * 1024
const rangeBytes = 4 * 1024 * 1024

/** A round is one file, because 1,000 files of the baseline take minutes; the ratio is the same. */
async function measureWrites(context: BenchContext, id: string, folder: string): Promise<Row> {
  const { api, incus, plan, say } = context
  const { project, name } = await incus.instanceOf(id)
  const content = (round: number) => `${round} `.padEnd(fileBytes, 'x')
  const sumOf = (path: string) => inMachine(context, id, `sha256sum < ${path}`)

  const ours = async (round: number): Promise<Sample> => {
    const path = `ours/${round % fileCount}`
    const body = { path, content: content(round) }
    const { ms } = await time(() => api.ok('PUT', `/v1/machines/${id}/files/content`, body))
    return { ms, wrong: compare(await sumOf(path), sum(body.content)) }
  }
  const baseline = async (round: number): Promise<Sample> => {
    const source = join(folder, 'small')
    await writeFile(source, content(round))
    const path = `/home/agent/baseline/${round % fileCount}`
    const target = `${name}${path}`
    const { ms } = await time(() =>
      incus.run('file', 'push', '--project', project, '--quiet', '-p', source, target),
    )
    return { ms, wrong: compare(await sumOf(path), sum(content(round))) }
  }
  const rounds = await runRounds({ baseline, ours }, plan.fast, say)
  return compareRounds(rounds, {
    id: 'S16',
    ours: 'a file of 1 KB written over HTTP',
    baseline: 'incus file push',
    target: { ratio: 1 / 20 },
  })
}

async function measureReads(context: BenchContext, id: string, folder: string): Promise<Row> {
  const { api, incus, plan, say } = context
  const { project, name } = await incus.instanceOf(id)
  const content = randomBytes(largeBytes)
  const expected = sum(content)
  await writeFile(join(folder, 'large'), content)
  const path = '/home/agent/large'
  await incus.run('file', 'push', '--project', project, join(folder, 'large'), `${name}${path}`)

  const ours = async (): Promise<Sample> => {
    const { ms, result } = await time(async () => {
      const parts: Buffer[] = []
      for (let offset = 0; offset < largeBytes; offset += rangeBytes) {
        const range = `bytes=${offset}-${offset + rangeBytes - 1}`
        const headers = { accept: 'application/octet-stream', range }
        const url = `/v1/machines/${id}/files/content?path=${path}`
        parts.push((await api.call('GET', url, undefined, headers)).bytes)
      }
      return parts
    })
    return { ms, wrong: compare(sum(Buffer.concat(result)), expected) }
  }
  const baseline = async (): Promise<Sample> => {
    const target = join(folder, 'pulled')
    const { ms } = await time(() =>
      incus.run('file', 'pull', '--project', project, '--quiet', `${name}${path}`, target),
    )
    const wrong = compare(sum(await readFile(target)), expected)
    await rm(target)
    return { ms, wrong }
  }
  const rounds = await runRounds({ baseline, ours }, plan.slow, say)
  return compareRounds(rounds, {
    id: 'S16',
    ours: '64 MB read in ranges of 4 MB',
    baseline: 'incus file pull',
    target: { ratio: 1 },
  })
}

/**
 * Each side is one command with its start, in both directions. Every copy gets a folder of its own, and none is
 * removed before the end: ext4 creates files many times slower for seconds after others were deleted.
 */
async function measureFolders(context: BenchContext, id: string, folder: string): Promise<Row[]> {
  const { api, incus, plan, say } = context
  const { project, name } = await incus.instanceOf(id)
  const cli = join(folder, 'cli')
  await buildCli(cli)
  const env = {
    PATH: process.env['PATH'],
    HOME: folder,
    COMPUTER_API_KEY: api.key,
    COMPUTER_BASE_URL: api.baseUrl,
  }
  const cp = (from: string, to: string) =>
    promisify(execFile)(process.execPath, [join(cli, 'dist/main.js'), 'cp', '-r', from, to], {
      env,
    })
  const file = (verb: 'push' | 'pull', ...args: readonly string[]) =>
    incus.run('file', verb, '--project', project, '--quiet', '-r', '-p', ...args)

  const source = join(folder, 'source')
  await mkdir(source)
  for (let index = 0; index < fileCount; index++) {
    await writeFile(join(source, `file-${index}`), randomBytes(fileBytes))
  }
  const expected = await sumOfFolder(source)
  const sumInMachine = (path: string) =>
    inMachine(context, id, `cd ${path} && LC_ALL=C ls | LC_ALL=C sort | xargs cat | sha256sum`)

  let copies = 0
  const push =
    (side: string, copy: (to: string) => Promise<unknown>) => async (): Promise<Sample> => {
      const to = `/home/agent/in-${side}-${copies++}`
      const { ms } = await time(() => copy(to))
      const wrong = compare(await sumInMachine(`${to}/source`), expected)
      return { ms, wrong }
    }
  const pull =
    (side: string, copy: (to: string) => Promise<unknown>) => async (): Promise<Sample> => {
      const to = join(folder, `out-${side}-${copies++}`)
      await mkdir(to)
      const { ms } = await time(() => copy(to))
      const wrong = compare(await sumOfFolder(join(to, 'out')), expected)
      return { ms, wrong }
    }
  const pushes = {
    baseline: push('incus', (to) => file('push', source, `${name}${to}`)),
    ours: push('ours', (to) => cp(source, `${id}:${to}/`)),
  }
  await cp(source, `${id}:out`)
  const pulls = {
    baseline: pull('incus', (to) => file('pull', `${name}/home/agent/out`, to)),
    ours: pull('ours', (to) => cp(`${id}:out`, to)),
  }
  const target = { ratio: 0.5, stretch: 0.2 }
  const ours = '1,000 files of 1 KB copied'
  return [
    compareRounds(await runRounds(pushes, plan.slow, say), {
      id: 'S16',
      ours: `${ours} in with \`computer cp -r\``,
      baseline: 'incus file push -r',
      target,
    }),
    compareRounds(await runRounds(pulls, plan.slow, say), {
      id: 'S16',
      ours: `${ours} out with \`computer cp -r\``,
      baseline: 'incus file pull -r',
      target,
    }),
  ]
}

/** As `cat` prints the files, by name. */
async function sumOfFolder(path: string): Promise<string> {
  const hash = createHash('sha256')
  for (const name of (await readdir(path)).toSorted()) hash.update(await readFile(join(path, name)))
  return hash.digest('hex')
}

async function inMachine({ api }: BenchContext, id: string, command: string): Promise<string> {
  const url = `/v1/machines/${id}/exec`
  const body = { command: ['sh', '-c', command] }
  const { stdout } = await api.ok<{ stdout: string }>('POST', url, body)
  return stdout.split(' ')[0]!
}

function sum(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}

function compare(actual: string, expected: string): string | undefined {
  return actual === expected ? undefined : `checksum ${actual} instead of ${expected}`
}
