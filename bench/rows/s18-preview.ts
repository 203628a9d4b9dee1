import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '../../e2e/harness/polling.ts'
import { freePort } from '../../e2e/harness/ports.ts'
import { runLoad, type Load } from '../load.ts'
import { polling, withMachine } from '../machine.ts'
import { compareSides, type Bench, type BenchContext, type Row } from '../row.ts'
import { runRounds } from '../rounds.ts'

/**
 * A private preview, compared with nginx with one worker and without credentials. nginx forwards to the
 * same program on this host, because the network of machines accepts no connection from it.
 */
export const bench: Bench = {
  name: 's18-preview',
  title: 'preview of a web server',
  run: (context) => withMachine(context.api, 's18', ({ id }) => measureBoth(context, id)),
}

const requests = 2_000
const connections = 50
const body = 'hello from the machine\n'
const guestPort = 8000
const program = (port: number) => `require('http').createServer((request, response) => {
  response.setHeader('content-length', ${body.length})
  response.end(${JSON.stringify(body)})
}).listen(${port}, '127.0.0.1')`

async function measureBoth(context: BenchContext, id: string): Promise<Row[]> {
  const { api, plan, say } = context
  const path = '/home/agent/hello.js'
  await api.ok('PUT', `/v1/machines/${id}/files/content`, {
    path,
    content: program(guestPort),
  })
  await api.launch(id, `node ${path}`)
  const listens = async () => (await api.run(id, ['ss', '-Htln', `sport = :${guestPort}`])) !== ''
  await eventually('the web server listens', listens, polling)
  const preview = await api.ok<{ url: string; secret: string }>(
    'POST',
    `/v1/machines/${id}/ports`,
    { port: guestPort },
  )
  const { host, port } = new URL(preview.url)
  await using nginx = await startNginx()
  const shared = { requests, connections, body }
  const ours: Load = {
    ...shared,
    url: new URL(`http://127.0.0.1:${port}/`),
    headers: { host, 'x-preview-secret': preview.secret },
  }
  const sides = {
    baseline: () => runLoad({ ...shared, url: nginx.url }),
    ours: () => runLoad(ours),
  }
  const load = await runRounds(sides, plan.slow, say)
  const one = { requests: 100, connections: 1 }
  const alone = await runRounds(
    {
      baseline: () => runLoad({ ...shared, ...one, url: nginx.url }),
      ours: () => runLoad({ ...ours, ...one }),
    },
    plan.slow,
    say,
  )
  const names = { baseline: 'baseline', ours: 'ours' } as const
  const busy = compareSides(load, names, {
    id: 'S18',
    ours: `${requests} requests over ${connections} connections`,
    baseline: 'nginx, one worker',
    target: { ratio: 2.5 },
  })
  const single = compareSides(alone, names, {
    id: 'S18',
    ours: `${one.requests} sequential requests`,
    baseline: 'nginx, one worker',
    target: { ratio: 2.5 },
  })
  const { oursMs, baselineMs } = single.comparison
  const added = (oursMs.p50 - baselineMs.p50) / one.requests
  return [busy, { ...single, note: `${added.toFixed(2)} ms more per request (goal 0.5)` }]
}

async function startNginx(): Promise<AsyncDisposable & { readonly url: URL }> {
  const folder = await mkdtemp(join(tmpdir(), 'computer-bench-nginx-'))
  const [port, webPort] = [await freePort(), await freePort()]
  const path = join(folder, 'nginx.conf')
  await writeFile(path, configure(folder, port, `127.0.0.1:${webPort}`))
  const web = spawn(process.execPath, ['-e', program(webPort)], { stdio: 'inherit' })
  const nginx = spawn('nginx', ['-c', path, '-p', folder, '-e', join(folder, 'error.log')], {
    stdio: 'inherit',
  })
  const endAll = async () => {
    for (const child of [nginx, web]) await end(child)
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await spawned(nginx)
    const url = new URL(`http://127.0.0.1:${port}/`)
    const answers = () =>
      fetch(url).then(
        ({ ok }) => ok,
        () => false,
      )
    await eventually('nginx answers', answers, polling)
    return { url, [Symbol.asyncDispose]: endAll }
  } catch (error) {
    await endAll()
    throw error
  }
}

async function spawned(child: ChildProcess): Promise<void> {
  try {
    await once(child, 'spawn')
  } catch (cause) {
    throw new Error('nginx is missing; run apt-get install nginx-light', { cause })
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null) return
  const ended = once(child, 'exit')
  child.kill()
  await ended
}

function configure(folder: string, port: number, upstream: string): string {
  return `daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
events { worker_connections 1024; }
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join('\n  ')}
  upstream machine { server ${upstream}; keepalive 64; }
  server {
    listen 127.0.0.1:${port};
    keepalive_requests 1000000;
    location / {
      proxy_pass http://machine;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
    }
  }
}
`
}
