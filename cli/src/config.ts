import { ApiError } from '@computer/sdk'
import { chmod, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'

/** A server with an API key, or with the browser session of a person who signed in. */
export type Profile = { readonly base_url: string } & (
  | { readonly api_key: string }
  | { readonly session: string }
)
type Config = {
  /** The profile used by default. */
  readonly current: string | null
  readonly profiles: Readonly<Record<string, Profile>>
}
export type Connection = {
  readonly baseUrl: string
  /** Null for a person who signed in. */
  readonly apiKey: string | null
  /** The session of a person who signed in. */
  readonly session: string | null
  /** Null if the key came from the environment. */
  readonly profile: string | null
}
export type ConnectionFlags = {
  readonly profile?: string | undefined
  readonly url?: string | undefined
}

export const defaultBaseUrl = 'http://127.0.0.1:7080'
export const defaultProfile = 'default'

export function configPath(): string {
  const folder = process.env['XDG_CONFIG_HOME'] || join(homedir(), '.config')
  return join(folder, 'computer', 'config.json')
}

/**
 * Selects the server and key: the named profile, else COMPUTER_API_KEY, else the current profile.
 * A key is never sent to a server other than the one it was saved for.
 */
export async function readConnection(flags: ConnectionFlags): Promise<Connection> {
  const { COMPUTER_API_KEY, COMPUTER_BASE_URL, COMPUTER_PROFILE } = process.env
  const requested = flags.profile ?? (COMPUTER_PROFILE || undefined)
  const url = flags.url ?? (requested === undefined ? COMPUTER_BASE_URL || undefined : undefined)
  const baseUrl = url === undefined ? undefined : normalUrl(url)
  if (requested === undefined && COMPUTER_API_KEY) {
    const server = baseUrl ?? defaultBaseUrl
    return { apiKey: COMPUTER_API_KEY, session: null, baseUrl: server, profile: null }
  }
  const config = await readConfig()
  const name = requested ?? findProfile(config, baseUrl) ?? config.current ?? defaultProfile
  const profile = config.profiles[name]
  if (!profile) throw notSignedIn(requested)
  if (baseUrl !== undefined && profile.base_url !== baseUrl) throw wrongServer(requested, baseUrl)
  return connectionOf(profile, name)
}

export function connectionOf(profile: Profile, name: string): Connection {
  return {
    baseUrl: profile.base_url,
    apiKey: 'api_key' in profile ? profile.api_key : null,
    session: 'session' in profile ? profile.session : null,
    profile: name,
  }
}

export async function readConfig(): Promise<Config> {
  const path = configPath()
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Config
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { current: null, profiles: {} }
    if (!(error instanceof SyntaxError)) throw error
    throw new ApiError(
      'invalid_request',
      `${path} is not valid JSON; fix it, or delete it and run \`computer login\``,
    )
  }
}

/** Replaces the file atomically, readable by its owner only. */
export async function writeConfig(config: Config): Promise<void> {
  const path = configPath()
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const partial = `${path}.${process.pid}.partial`
  try {
    await using file = await open(partial, 'w', 0o600)
    await file.writeFile(`${JSON.stringify(config, null, 2)}\n`)
    await file.sync()
    await chmod(partial, 0o600)
    await rename(partial, path)
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
}

export function normalUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new ApiError(
      'invalid_request',
      `"${text}" is not a valid URL; expected one such as ${defaultBaseUrl}`,
    )
  return text.replace(/\/+$/, '')
}

function findProfile(config: Config, baseUrl: string | undefined): string | undefined {
  const isForServer = (name: string) => config.profiles[name]?.base_url === baseUrl
  if (baseUrl === undefined || (config.current !== null && isForServer(config.current)))
    return undefined
  return Object.keys(config.profiles).find(isForServer)
}

function notSignedIn(requested: string | undefined): ApiError {
  const message = requested === undefined ? 'not signed in' : `profile "${requested}" not found`
  return new ApiError('unauthenticated', message)
}

function wrongServer(requested: string | undefined, baseUrl: string): ApiError {
  const subject = requested === undefined ? 'no profile is' : `profile "${requested}" is not`
  return new ApiError('unauthenticated', `${subject} signed in to ${baseUrl}`)
}
