import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { request as sendRequest, type RequestOptions } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { IncomingMessage } from 'node:http'
import { unpackProgram } from '../../e2e/harness/debian-program.ts'
import { freePort } from '../../e2e/harness/ports.ts'
import { createKeyPair, signCertificate } from '../src/certificates.ts'
import type { Lifetime } from './harness.ts'
import { eventually } from './settled.ts'

/* Reverse proxies on the loopback address that run the examples of the guides. */

export type ProxyName = 'nginx' | 'caddy'
export type Upstreams = {
  readonly api: number
  readonly gateway: number
  readonly previews: number
}
/** Where its clients come from. The proxy itself has another address. */
export const clientAddress = '127.0.0.2'

/** Starts a proxy with the examples in the guides, of which only the ports and the paths of certificates change. */
export async function startProxy(t: Lifetime, name: ProxyName, upstreams: Upstreams) {
  const folder = await mkdtemp(join(tmpdir(), `computer-${name}-`))
  const port = await freePort()
  const ca = await writeCertificate(folder)
  const guides = ['docs/self-hosting.md', 'docs/previews.md']
  const examples = await Promise.all(guides.map((guide) => readExample(guide, name)))
  const text = examples
    .join('\n')
    .replaceAll(/\/etc\/ssl\/[\w./]+\.crt/g, join(folder, 'crt'))
    .replaceAll(/\/etc\/ssl\/[\w./]+\.key/g, join(folder, 'key'))
    .replaceAll('127.0.0.1:7080', `127.0.0.1:${upstreams.api}`)
    .replaceAll('127.0.0.1:7081', `127.0.0.1:${upstreams.gateway}`)
    .replaceAll('127.0.0.1:7082', `127.0.0.1:${upstreams.previews}`)
    .replaceAll('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
  const config = join(folder, 'config')
  await writeFile(config, surround[name](text, folder, port))
  const { path, args } = programs[name]
  const env = { PATH: process.env['PATH'], HOME: folder, XDG_DATA_HOME: folder }
  const child = spawn(await unpackProgram(name, path), args(config, folder), { env, stdio: 'pipe' })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part: string) => (output += part))
  }
  const ended = once(child, 'exit')
  t.after(async () => {
    child.kill()
    await ended
    await rm(folder, { recursive: true, force: true })
  })

  const connection = { host: '127.0.0.1', port, localAddress: clientAddress, ca }
  const open = (host: string, options: RequestOptions) => {
    const headers = { host, ...(options.headers as object) }
    const servername = host.split(':')[0]!
    return sendRequest({ ...connection, servername, agent: false, ...options, headers })
  }
  const site = `computer.example.com:${port}`
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`${name} has ended:\n${output}`)
    return answers(open(site, { path: '/healthz' }))
  })
  return {
    /** The name of the API and the gateway, with the port of the proxy. */
    site,
    /** How a TLS client connects. */
    connection,
    /** Begins a request to a name that the proxy serves. */
    open,
  }
}

export async function readText(answer: IncomingMessage): Promise<string> {
  let text = ''
  for await (const part of answer) text += String(part)
  return text
}

async function answers(request: ReturnType<typeof sendRequest>): Promise<true | undefined> {
  request.end()
  try {
    const [answer] = (await once(request, 'response')) as [IncomingMessage]
    answer.resume()
    return answer.statusCode === 200 || undefined
  } catch {
    return undefined
  }
}

/** The example of a proxy in a guide. */
async function readExample(guide: string, name: ProxyName): Promise<string> {
  const text = await readFile(new URL(`../../${guide}`, import.meta.url), 'utf8')
  const blocks = [...text.matchAll(new RegExp(`^\`\`\`${name}\n([^]*?)^\`\`\`$`, 'gm'))]
  if (blocks.length !== 1) throw new Error(`${guide} has ${blocks.length} examples for ${name}`)
  return blocks[0]![1]!
}

const programs = {
  nginx: {
    path: 'usr/sbin/nginx',
    args: (config: string, folder: string) => ['-c', config, '-p', folder, '-e', 'stderr'],
  },
  caddy: {
    path: 'usr/bin/caddy',
    args: (config: string) => ['run', '--config', config, '--adapter', 'caddyfile'],
  },
}

/** What a test needs around the examples: no other port or folder of the host is used. */
const surround = {
  nginx(text: string, folder: string): string {
    const bodies = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    return `daemon off;
pid ${folder}/pid;
error_log stderr;
events {}
http {
access_log off;
${bodies.map((body) => `${body}_temp_path ${folder}/${body};`).join('\n')}
${text}
}
`
  },
  caddy(text: string, _folder: string, port: number): string {
    return `{
  admin off
  https_port ${port}
  auto_https disable_redirects
  default_bind 127.0.0.1
}
${text}`
  },
}

/** One certificate for both names. Resolves to it, because it has signed itself. */
async function writeCertificate(folder: string): Promise<string> {
  const { publicPem, privatePem } = await createKeyPair()
  const name = [{ name: 'commonName', value: 'A proxy of a test' }]
  const altNames = ['computer.example.com', '*.preview.example.com'].map((value) => ({
    type: 2,
    value,
  }))
  const certificate = signCertificate(
    { publicPem, days: 1, subject: name, issuer: name },
    [
      { name: 'basicConstraints', cA: true },
      { name: 'subjectAltName', altNames },
    ],
    privatePem,
  )
  await writeFile(join(folder, 'crt'), certificate)
  await writeFile(join(folder, 'key'), privatePem)
  return certificate
}
