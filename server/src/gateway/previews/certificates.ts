import { readFile } from 'node:fs/promises'
import type { Server } from 'node:https'
import type { SecureContext, TlsOptions } from 'node:tls'
import { callbackify } from 'node:util'
import type { App } from '../../app.ts'
import { labelOfHost, type PreviewDomain } from '../../domain/previews/hosts.ts'
import { openLocalAuthority } from './local-authority.ts'

/** Poll interval for the certificate files, so renewals need no reload signal. */
const pollMs = 2_000

export type Certificates = Disposable & {
  readonly options: TlsOptions
  /** Keeps the server's certificate current. */
  serve(server: Server): void
}

/** Null: a trusted proxy terminates TLS. */
export async function openCertificates(
  app: Pick<App, 'config' | 'log'>,
  domain: PreviewDomain,
): Promise<Certificates | null> {
  const shared = { minVersion: 'TLSv1.2', ALPNProtocols: ['http/1.1'] } as const
  const { tls } = domain
  if (tls.by === 'proxy') return null
  if (tls.by === 'authority') {
    const authority = await openLocalAuthority(app.config.dataDir)
    const SNICallback = (name: string, done: Done) => {
      if (labelOfHost(domain, name) === null) return done(new Error('not a hostname of a preview'))
      callbackify(() => authority.contextOf(name))(done)
    }
    return { options: { ...shared, SNICallback }, serve() {}, [Symbol.dispose]() {} }
  }
  const files = await readFiles(tls)
  let timer: NodeJS.Timeout | undefined
  return {
    options: { ...shared, ...files },
    serve(server) {
      timer = reloadWhenChanged(app, tls, server, files)
    },
    [Symbol.dispose]: () => clearInterval(timer),
  }
}

type Done = (error: Error | null, context?: SecureContext) => void
type Files = { readonly cert: string; readonly key: string }

/** A pair that cannot be used, such as a certificate before its key is written, is retried. */
function reloadWhenChanged(
  { log }: Pick<App, 'log'>,
  paths: Files,
  server: Server,
  loaded: Files,
): NodeJS.Timeout {
  let last = loaded
  return setInterval(() => {
    readFiles(paths).then(
      (files) => {
        if (files.cert === last.cert && files.key === last.key) return
        last = files
        try {
          server.setSecureContext({ ...files, minVersion: 'TLSv1.2' })
          log.info('loaded the renewed preview certificate')
        } catch (error) {
          log.error(
            { err: error },
            'could not use the new preview certificate; keeping the previous one',
          )
        }
      },
      (error: unknown) =>
        log.warn({ err: error }, 'could not read the preview certificate; will retry'),
    )
  }, pollMs)
}

async function readFiles({ cert, key }: Files): Promise<Files> {
  const [certificate, privateKey] = await Promise.all([
    readFile(cert, 'utf8'),
    readFile(key, 'utf8'),
  ])
  return { cert: certificate, key: privateKey }
}
