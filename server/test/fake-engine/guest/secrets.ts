import type { GuestSecrets, GuestSecretsState } from '@computer/contract'

/** The secrets of one boot of a fake machine. The next boot starts without any. */
export class FakeSecrets {
  /** Every set that arrived; `wasFirst`: before the boot was released to users. */
  readonly deliveries: { readonly revision: number; readonly wasFirst: boolean }[] = []
  held: GuestSecrets = { revision: 0, secrets: [] }
  #isBootReleased = false

  get environment(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.held.secrets.map(({ name, value }) => [name, value]))
  }

  get state(): GuestSecretsState {
    return { revision: this.held.revision, told: this.#isBootReleased }
  }

  take(secrets: GuestSecrets): GuestSecretsState {
    this.deliveries.push({ revision: secrets.revision, wasFirst: !this.#isBootReleased })
    if (secrets.revision >= this.held.revision) this.held = secrets
    return this.state
  }

  releaseBoot(): void {
    this.#isBootReleased = true
  }
}
