import { Unopenable } from './keyring.ts'

export type Rotation = {
  /** The number of rows that were encrypted again. */
  readonly rotated: number
  /** What no key of the keyring opens. */
  readonly unopened: readonly Unopened[]
}
type Unopened = { readonly secret: string; readonly reason: string }

type Resealing<Row> = {
  /** The next `limit` rows after one, in an order that does not change. */
  readPage(after: Row | null, limit: number): Promise<readonly Row[]>
  /** Encrypts a row again unless it already is. Resolves to whether it changed. Throws Unopenable. */
  reseal(row: Row): Promise<boolean>
  describe(row: Row): string
}

const pageSize = 100

/** Encrypts all rows again, beside a server that runs. */
export async function resealAll<Row>(resealing: Resealing<Row>): Promise<Rotation> {
  for (let rotated = 0; ;) {
    const pass = await resealOnce(resealing)
    rotated += pass.rotated
    // Repeats, because a call that had read the keyring before the new key may have stored a secret.
    if (pass.rotated === 0) return { ...pass, rotated }
  }
}

async function resealOnce<Row>({ readPage, reseal, describe }: Resealing<Row>): Promise<Rotation> {
  let rotated = 0
  const unopened: Unopened[] = []
  for (let after: Row | null = null; ;) {
    const rows: readonly Row[] = await readPage(after, pageSize)
    for (const row of rows) {
      after = row
      try {
        if (await reseal(row)) rotated += 1
      } catch (error) {
        if (!(error instanceof Unopenable)) throw error
        unopened.push({ secret: describe(row), reason: error.message })
      }
    }
    if (rows.length < pageSize) return { rotated, unopened }
  }
}
