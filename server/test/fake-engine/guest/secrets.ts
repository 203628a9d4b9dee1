import type { GuestSecrets, GuestSecretsState } from '@computer/contract'

/** The secrets of one boot of a fake machine: the next one has forgotten them. */
export class FakeSecrets {
  /** What came before users were let in, and after. */
  readonly deliveries: { readonly revision: number; readonly wasFirst: boolean }[] = []
  #held: GuestSecrets = { revision: 0, secrets: [] }
  #areUsersIn = false

  get environment(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#held.secrets.map(({ name, value }) => [name, value]))
  }

  get state(): GuestSecretsState {
    return { revision: this.#held.revision, told: this.#areUsersIn }
  }

  take(told: GuestSecrets): GuestSecretsState {
    this.deliveries.push({ revision: told.revision, wasFirst: !this.#areUsersIn })
    if (told.revision >= this.#held.revision) this.#held = told
    return this.state
  }

  letUsersIn(): void {
    this.#areUsersIn = true
  }
}
