import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { incusPath } from './incus.ts'
import { takeLease, waitForDesktop, withMachine } from './machine.ts'
import type { BenchContext } from './row.ts'

/** A machine with its desktop up, the input lease ours, and the probe (guest/probe.py) running in it. */
export type BenchDesktop = {
  readonly id: string
  /** What `incus exec` and `incus file` need to name it. */
  readonly instance: { readonly project: string; readonly name: string }
  readonly lease: { readonly sessionId: string; readonly fence: number }
  /** Asks the probe. */
  ask<T = object>(question: object): Promise<T>
  /** Milliseconds of a process inside, as the user of the desktop. A failure is an error. */
  runInside(...argv: readonly string[]): Promise<number>
  /** As root, through our own exec. */
  runAsRoot(...argv: readonly string[]): Promise<string>
}

export function withDesktop<T>(
  { api, incus, say }: BenchContext,
  name: string,
  work: (desktop: BenchDesktop) => Promise<T>,
): Promise<T> {
  return withMachine(api, name, async ({ id }) => {
    say('waiting for a desktop')
    await waitForDesktop(api, id)
    const lease = await takeLease(api, id)
    const content = await readFile(new URL('guest/probe.py', import.meta.url), 'utf8')
    const file = { path: '/tmp/probe.py', content, mode: '0644' }
    await api.json('PUT', `/v1/machines/${id}/files/content`, file)
    const instance = await incus.instanceOf(id)
    using probe = startProbe(instance, incus.env)
    return await work({
      id,
      instance,
      lease,
      ask: probe.ask,
      async runInside(...argv) {
        const done = await probe.ask<Run>({ do: 'run', argv })
        if (done.code === 0) return done.ms
        throw new Error(`${argv[0]} exited with ${done.code}: ${done.complaint}`)
      },
      async runAsRoot(...command) {
        const done = await api.json<ExecResult>('POST', `/v1/machines/${id}/exec`, {
          command,
          user: 'root',
          timeout_ms: 300_000,
        })
        if (done.exit_code === 0) return done.stdout
        throw new Error(`${command.join(' ')} exited with ${done.exit_code}: ${done.stderr}`)
      },
    })
  })
}

/** The image has no screenshot tool of its own. */
export function installScrot(run: (...argv: string[]) => Promise<unknown>): Promise<void> {
  return installPackages(run, 'scrot')
}

/** Puts what a baseline needs into the machine, from Debian's packages. */
export async function installPackages(
  run: (...argv: string[]) => Promise<unknown>,
  ...packages: string[]
): Promise<void> {
  await run('apt-get', 'update', '-q')
  const options = ['-o', 'DPkg::Lock::Timeout=60', '--no-install-recommends']
  await run(
    'env',
    'DEBIAN_FRONTEND=noninteractive',
    'apt-get',
    'install',
    '-qy',
    ...options,
    ...packages,
  )
}

type Run = { readonly ms: number; readonly code: number; readonly complaint: string }
type ExecResult = {
  readonly exit_code: number
  readonly stdout: string
  readonly stderr: string
}

/** Over the engine's own exec, so that nothing of ours is busy with it. One question at a time. */
function startProbe(instance: BenchDesktop['instance'], env: NodeJS.ProcessEnv) {
  const { project, name } = instance
  const asUser = ['--user', '1000', '--group', '1000', '--env', 'HOME=/home/agent']
  // Without it xdotool takes its text for ASCII.
  const locale = ['--env', 'LANG=C.UTF-8']
  const args = ['exec', '--project', project, '-T', ...asUser, ...locale, name, '--']
  const program = ['python3', '/tmp/probe.py']
  const child = spawn(incusPath, [...args, ...program], { env, stdio: ['pipe', 'pipe', 'pipe'] })
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text))
  child.stdin.on('error', () => {})
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  let turn: Promise<unknown> = Promise.resolve()

  async function exchange(question: object): Promise<object> {
    child.stdin.write(`${JSON.stringify(question)}\n`)
    const { value, done } = await lines.next()
    if (done) throw new Error(`the probe ended: ${complaint.trim()}`)
    const answer = JSON.parse(value) as object
    if ('error' in answer) throw new Error(`the probe: ${String(answer.error)}`)
    return answer
  }

  return {
    ask<T>(question: object): Promise<T> {
      const answer = turn.then(() => exchange(question))
      turn = answer.catch(() => {})
      return answer as Promise<T>
    },
    [Symbol.dispose]() {
      child.stdin.end()
      child.kill()
    },
  }
}
