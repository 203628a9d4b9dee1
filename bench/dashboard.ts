import type { Browser } from 'playwright-core'
import { launchChromium } from '../e2e/harness/chromium.ts'
import { signInOwner, type Person } from '../e2e/harness/person.ts'
import type { BenchContext } from './row.ts'

/** Runs `work` with a browser and a person of the measured organization, whose account is deleted afterwards. */
export async function withPerson<T>(
  { api, dataDir }: BenchContext,
  work: (browser: Browser, person: Person) => Promise<T>,
): Promise<T> {
  await using browser = await launchChromium()
  const person = await signInOwner({ api, dataDir }, 'Bench')
  try {
    return await work(browser, person)
  } finally {
    await person.ok('DELETE', '/v1/auth/me', { password: person.password })
  }
}
