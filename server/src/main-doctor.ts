import { readConfig } from './config.ts'
import { withSettings } from './host/settings.ts'
import { describe, diagnose, isHealthy } from './host/doctor/diagnose.ts'

/** `computer doctor`. Exit code 0 means that this host can run the server. */
const diagnoses = await diagnose(readConfig(withSettings(process.env)))
const healthy = isHealthy(diagnoses)
if (process.argv.includes('--json')) {
  console.log(JSON.stringify({ healthy, checks: diagnoses }, null, 2))
} else {
  for (const diagnosis of diagnoses) console.log(describe(diagnosis))
  const warnings = diagnoses.filter(({ status }) => status === 'warn').length
  const failures = diagnoses.filter(({ status }) => status === 'fail').length
  console.log(
    healthy
      ? `This host can run the server (${warnings} warnings).`
      : `This host cannot run the server: ${failures} checks failed.`,
  )
}
process.exitCode = healthy ? 0 : 1
