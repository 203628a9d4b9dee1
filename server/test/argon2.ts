import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import type { TestContext } from 'node:test'

type Argon2 = typeof crypto.argon2

/** Records every call of argon2 and passes it on. */
export function watchArgon2(t: TestContext) {
  const work: object[] = []
  let running = 0
  let most = 0
  const argon2: Argon2 = crypto.argon2
  t.mock.method(crypto, 'argon2', ((algorithm, parameters, done) => {
    const { memory, passes, parallelism, tagLength, nonce } = parameters
    const nonceLength = Buffer.from(nonce as Buffer).length
    work.push({ algorithm, memory, passes, parallelism, tagLength, nonceLength })
    running += 1
    most = Math.max(most, running)
    argon2(algorithm, parameters, (error, tag) => {
      running -= 1
      done(error, tag)
    })
  }) satisfies Argon2)
  syncBuiltinESMExports()
  t.after(() => {
    t.mock.restoreAll()
    syncBuiltinESMExports()
  })
  return {
    /** The parameters of each call, without secret and random ones. */
    work: () => work,
    mostAtOnce: () => most,
  }
}
