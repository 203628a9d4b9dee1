import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { defaultDataDir } from '../environment.ts'
import { replaceFile } from '../replace-file.ts'

export function settingsPath(dataDir: string): string {
  return join(dataDir, 'computer.env')
}

/** Adds the variables of computer.env in the data folder to those of this process. Those that are set win. */
export function withSettings(env: typeof process.env): NodeJS.ProcessEnv {
  const path = settingsPath(env['COMPUTER_DATA'] ?? defaultDataDir)
  if (existsSync(path)) process.loadEnvFile(path)
  return env
}

/** Others than root must not read it: the address of the database contains its password. */
export async function writeSettings(
  dataDir: string,
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  const lines = Object.entries(settings).map(([name, value]) => `${name}="${value}"\n`)
  await replaceFile(settingsPath(dataDir), lines.join(''), { isDurable: true })
}
