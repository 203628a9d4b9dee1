import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import type { Lease } from '../e2e/harness/api.ts'
import { incusPath } from './incus.ts'
import { polling, withMachine } from './machine.ts'
import type { BenchContext } from './row.ts'

/** A machine with its desktop up, the input lease held, and the probe (guest/probe.py) running in it. */
export type BenchDesktop = {
  readonly id: string
  /** Names the machine for `incus exec` and `incus file`. */
  readonly instance: { readonly project: string; readonly name: string }
  readonly lease: Lease
  /** Sends a request to the probe. */
  ask<T = object>(request: object): Promise<T>
  /** Runs a process as the desktop's user and resolves to its milliseconds, timed inside. */
  runInside(...argv: readonly string[]): Promise<number>
  /** Runs a command as root through our exec. */
  runAsRoot(...argv: readonly string[]): Promise<string>
}

export function withDesktop<T>(
  { api, incus, say }: BenchContext,
  name: string,
  work: (desktop: BenchDesktop) => Promise<T>,
): Promise<T> {
  return withMachine(api, name, async ({ id }) => {
    say('waiting for the desktop')
    await api.waitForDesktop(id, polling)
    const lease = await api.takeLease(id, { ttl_seconds: 3600 })
    const content = await readFile(new URL('guest/probe.py', import.meta.url), 'utf8')
    const file = { path: '/tmp/probe.py', content, mode: '0644' }
    await api.ok('PUT', `/v1/machines/${id}/files/content`, file)
    const instance = await incus.instanceOf(id)
    using probe = startProbe(instance, incus.env)
    return await work({
      id,
      instance,
      lease,
      ask: probe.ask,
      async runInside(...argv) {
        const { ms, code, stderr } = await probe.ask<Run>({ do: 'run', argv })
        if (code === 0) return ms
        throw new Error(`${argv[0]} exited with ${code}: ${stderr}`)
      },
      runAsRoot: (...command) => api.run(id, command, { user: 'root', timeout_ms: 300_000 }),
    })
  })
}

/** Installs scrot, because the image has no screenshot tool. */
export function installScrot(run: (...argv: string[]) => Promise<unknown>): Promise<void> {
  return installPackages(run, 'scrot')
}

/** Installs Debian packages that a baseline needs. */
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

type Run = { readonly ms: number; readonly code: number; readonly stderr: string }

/** Runs the probe through the engine's own exec, so that it puts no load on our server. */
function startProbe(instance: BenchDesktop['instance'], env: NodeJS.ProcessEnv) {
  const { project, name } = instance
  const asUser = ['--user', '1000', '--group', '1000', '--env', 'HOME=/home/agent']
  // Without a UTF-8 locale xdotool takes its text for ASCII.
  const locale = ['--env', 'LANG=C.UTF-8']
  const args = ['exec', '--project', project, '-T', ...asUser, ...locale, name, '--']
  const program = ['python3', '/tmp/probe.py']
  const child = spawn(incusPath, [...args, ...program], { env, stdio: ['pipe', 'pipe', 'pipe'] })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  child.stdin.on('error', () => {})
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  let previous: Promise<unknown> = Promise.resolve()

  async function exchange(request: object): Promise<object> {
    child.stdin.write(`${JSON.stringify(request)}\n`)
    const { value, done } = await lines.next()
    if (done) throw new Error(`the probe ended: ${stderr.trim()}`)
    const answer = JSON.parse(value) as object
    if ('error' in answer) throw new Error(`the probe failed: ${String(answer.error)}`)
    return answer
  }

  return {
    /** Requests wait for each other. */
    ask<T>(request: object): Promise<T> {
      const answer = previous.then(() => exchange(request))
      previous = answer.catch(() => {})
      return answer as Promise<T>
    },
    [Symbol.dispose]() {
      child.stdin.end()
      child.kill()
    },
  }
}
