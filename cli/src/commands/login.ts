import { ApiError } from '@computer/sdk'
import { openClient } from '../client.ts'
import { clientCommand, examples } from '../command.ts'
import {
  configPath,
  defaultBaseUrl,
  defaultProfile,
  normalUrl,
  readConfig,
  writeConfig,
} from '../config.ts'
import { showDone } from '../output.ts'
import { readHidden } from '../prompt.ts'

export const login = clientCommand('login')
  .description('Check an API key and save it for later commands.')
  .option('--key [key]', 'API key (default: prompt for it, or read it from standard input)')
  .option('--url <url>', `address of the server (default: COMPUTER_BASE_URL, or ${defaultBaseUrl})`)
  .addHelpText(
    'after',
    `
The key is stored in a file that only you can read, and is never shown. A key passed as an
argument is visible in process lists and shell history; prefer the prompt. On the host of
the server, the owner's first key is in the file owner.key of the data folder.
${examples(
  'computer login --url https://computer.example.com',
  'computer login --profile local < /var/lib/computer/owner.key',
)}`,
  )
  .action(async (options) => {
    const config = await readConfig()
    const name = options.profile ?? (process.env['COMPUTER_PROFILE'] || defaultProfile)
    const known = config.profiles[name]?.base_url
    const url = options.url ?? (process.env['COMPUTER_BASE_URL'] || known) ?? defaultBaseUrl
    const baseUrl = normalUrl(url)
    const given = typeof options.key === 'string' ? options.key : await readHidden('API key')
    const apiKey = given.trim()
    if (!/^[\x21-\x7e]+$/.test(apiKey))
      throw new ApiError(
        'invalid_request',
        'not a valid API key: expected printable ASCII without spaces',
      )
    await using computer = await openClient(apiKey, baseUrl)
    const me = await computer.me()
    const profiles = { ...config.profiles, [name]: { base_url: baseUrl, api_key: apiKey } }
    await writeConfig({ current: name, profiles })
    warnOfPlainText(baseUrl)
    const sentence = `Signed in to ${me.organization.name} at ${baseUrl}; saved as profile ${name} in ${configPath()}`
    showDone(sentence, { profile: name, baseUrl, ...me }, options)
  })

function warnOfPlainText(baseUrl: string): void {
  const { protocol, hostname } = new URL(baseUrl)
  const isHere = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
  if (protocol === 'http:' && !isHere)
    console.error(`warning: ${baseUrl} does not use https; the key is sent unencrypted`)
}
