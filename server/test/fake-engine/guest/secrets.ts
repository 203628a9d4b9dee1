import type { GuestSecrets, GuestSecretsState } from '@computer/contract'

/** The secrets of one boot of a fake machine. The next boot starts without any. */
export class FakeSecrets {
  /** Every set that arrived; `wasFirst`: before users were let in. */
  readonly deliveries: { readonly revision: number; readonly wasFirst: boolean }[] = []
  held: GuestSecrets = { revision: 0, secrets: [] }
  #areUsersIn = false

  get environment(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.held.secrets.map(({ name, value }) => [name, value]))
  }

  get state(): GuestSecretsState {
    return { revision: this.held.revision, told: this.#areUsersIn }
  }

  take(secrets: GuestSecrets): GuestSecretsState {
    this.deliveries.push({ revision: secrets.revision, wasFirst: !this.#areUsersIn })
    if (secrets.revision >= this.held.revision) this.held = secrets
    return this.state
  }

  letUsersIn(): void {
    this.#areUsersIn = true
  }
}
