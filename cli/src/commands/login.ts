import { ApiError } from '@computer/sdk'
import { openClient } from '../client.ts'
import { clientCommand, examples } from '../command.ts'
import {
  configPath,
  connectionOf,
  defaultBaseUrl,
  defaultProfile,
  normalUrl,
  readConfig,
  writeConfig,
} from '../config.ts'
import { showDone } from '../output.ts'
import { readHidden } from '../prompt.ts'
import { openSession } from '../session.ts'

export const login = clientCommand('login')
  .description('Sign in with an API key, or as a person, and save it for later commands.')
  .option('--key [key]', 'API key (default: prompt for it, or read it from standard input)')
  .option('--email <email>', 'sign in as this person, with a password from the prompt or stdin')
  .option('--organization <id>', 'with --email: the organization to act in')
  .addHelpText(
    'after',
    `
The key, or the session of a person, is stored in a file that only you can read, and is
never shown. A key passed as an argument is visible in process lists and shell history;
prefer the prompt. On the host of the server, the owner's first key is in the file
owner.key of the data folder. A person can also create API keys.
${examples(
  'computer login --url https://computer.example.com',
  'computer login --email ada@example.com',
  'computer login --profile local < /var/lib/computer/owner.key',
)}`,
  )
  .action(async (options) => {
    const config = await readConfig()
    const name = options.profile ?? (process.env['COMPUTER_PROFILE'] || defaultProfile)
    const known = config.profiles[name]?.base_url
    const url = options.url ?? (process.env['COMPUTER_BASE_URL'] || known) ?? defaultBaseUrl
    const baseUrl = normalUrl(url)
    if (options.email !== undefined && options.key !== undefined)
      throw new ApiError('invalid_request', 'pass either --email or --key')
    const credential =
      options.email === undefined
        ? { api_key: await readKey(options.key) }
        : { session: await signIn(baseUrl, options.email) }
    const profile = { base_url: baseUrl, ...credential }
    await using computer = await openClient(connectionOf(profile, name))
    const { organization: organizationId } = options
    const me =
      organizationId === undefined
        ? await computer.me()
        : await computer.auth.switchOrganization(organizationId)
    const profiles = { ...config.profiles, [name]: profile }
    await writeConfig({ current: name, profiles })
    warnOfPlainText(baseUrl)
    const sentence = `Signed in to ${me.organization.name} at ${baseUrl}; saved as profile ${name} in ${configPath()}`
    showDone(sentence, { profile: name, baseUrl, ...me }, options)
  })

async function readKey(option: string | true | undefined): Promise<string> {
  const given = typeof option === 'string' ? option : await readHidden('API key')
  const key = given.trim()
  if (/^[\x21-\x7e]+$/.test(key)) return key
  const message = 'not a valid API key: expected printable ASCII without spaces'
  throw new ApiError('invalid_request', message)
}

async function signIn(baseUrl: string, email: string): Promise<string> {
  return openSession(baseUrl, { email, password: await readHidden(`Password of ${email}`) })
}

function warnOfPlainText(baseUrl: string): void {
  const { protocol, hostname } = new URL(baseUrl)
  const isHere = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
  if (protocol === 'http:' && !isHere)
    console.error(
      `warning: ${baseUrl} does not use https; what you signed in with is sent unencrypted`,
    )
}
