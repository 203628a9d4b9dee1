import type { Config } from '../../config.ts'
import type { Terminal } from '../terminal.ts'
import { thisHost, type Check, type Finding, type Host } from './check.ts'
import { engineChecks } from './engine.ts'
import { isolationChecks } from './isolation.ts'
import { kernelChecks } from './kernel.ts'
import { networkChecks } from './network.ts'
import { previewChecks } from './previews.ts'
import { storageChecks } from './storage.ts'
import { warmChecks } from './warm.ts'

/*
 * Checks whether this host can run the server, without changing anything on it. `computer doctor` runs
 * every check; a start runs the quick ones and aborts when one fails.
 */
export type Diagnosis = Finding & { readonly name: string }

const allChecks: readonly Check[] = [
  ...kernelChecks,
  ...isolationChecks,
  ...storageChecks,
  ...engineChecks,
  ...networkChecks,
  ...previewChecks,
  ...warmChecks,
]

export async function diagnose(
  config: Config,
  options: { readonly quickOnly?: boolean; readonly host?: Host } = {},
): Promise<Diagnosis[]> {
  const hasPrivateEngine = config.engine === null
  const checks = allChecks.filter(
    (check) =>
      (hasPrivateEngine || check.concerns === 'server') && !(options.quickOnly && check.isSlow),
  )
  return Promise.all(
    checks.map(async (check) => ({
      name: check.name,
      ...(await check.run(options.host ?? thisHost, config).catch(describeCrash)),
    })),
  )
}

/** Runs the quick checks, shows what they found, and throws if one failed. */
export async function requireHealthyHost(
  config: Config,
  terminal: Pick<Terminal, 'say'>,
): Promise<void> {
  const diagnoses = await diagnose(config, { quickOnly: true })
  for (const diagnosis of diagnoses) {
    if (diagnosis.status !== 'ok') terminal.say(describe(diagnosis))
  }
  if (!isHealthy(diagnoses))
    throw new Error('this host cannot run the server; fix the failed checks above and try again')
}

export function isHealthy(diagnoses: readonly Diagnosis[]): boolean {
  return diagnoses.every((diagnosis) => diagnosis.status !== 'fail')
}

export function describe({ name, status, message, remedy }: Diagnosis): string {
  const line = `${status.padEnd(4)}  ${name}: ${message}`
  return remedy ? `${line}\n      ${remedy}` : line
}

function describeCrash(error: Error): Finding {
  return {
    status: 'warn',
    message: `could not be checked: ${error.message}`,
    remedy: 'Check it manually.',
  }
}
