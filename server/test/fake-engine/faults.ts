import { DriverError, type MachineDriver } from '../../src/drivers/machine-driver.ts'

/** A driver method that can be made to fail or hang. */
export type FakeMethod = Exclude<keyof MachineDriver, 'watch' | symbol>

/** A point at which a test delays callers. */
export type Hold = {
  /** Resolves when the first caller waits here. */
  readonly reached: Promise<void>
  release(): void
}

export type FailOptions = {
  /** How many calls fail. */
  readonly times?: number
  readonly retryable?: boolean
  readonly ofEngine?: boolean
  readonly message?: string
  /** The call takes effect before it fails. */
  readonly afterEffect?: boolean
}

export type HangOptions = {
  /** The call takes effect before it hangs; only its answer is missing. */
  readonly afterEffect?: boolean
}

/** Failures, hangs and latencies injected into calls to the engine. */
export class Faults {
  readonly latencyMs: Partial<Record<FakeMethod, number>>
  readonly #failures = new Map<FakeMethod, Required<FailOptions>[]>()
  readonly #hangs = new Map<FakeMethod, Hang[]>()
  readonly #calls = new Map<FakeMethod, number>()

  constructor(latencyMs: Partial<Record<FakeMethod, number>>) {
    this.latencyMs = latencyMs
  }

  failNext(method: FakeMethod, options: FailOptions = {}): void {
    const {
      times = 1,
      retryable = true,
      ofEngine = false,
      message = `${method} failed`,
      afterEffect = false,
    } = options
    const failures = this.#failures.get(method) ?? []
    failures.push({ times, retryable, ofEngine, message, afterEffect })
    this.#failures.set(method, failures)
  }

  recover(method: FakeMethod): void {
    this.#failures.delete(method)
  }

  /** The next call of the method waits until it is released, then goes on as usual. */
  hangNext(method: FakeMethod, { afterEffect = false }: HangOptions = {}): Hold {
    const gate = new Gate()
    this.#hangs.set(method, [...(this.#hangs.get(method) ?? []), { gate, afterEffect }])
    return gate
  }

  /** How often the method was called, failed calls included. */
  calls(method: FakeMethod): number {
    return this.#calls.get(method) ?? 0
  }

  async run<T>(method: FakeMethod, effect: () => T | Promise<T>): Promise<T> {
    this.#calls.set(method, this.calls(method) + 1)
    const failure = this.#takeFailure(method)
    const hang = this.#hangs.get(method)?.shift()
    if (hang && !hang.afterEffect) await hang.gate.pass()
    const latencyMs = this.latencyMs[method] ?? 0
    if (latencyMs > 0) await new Promise((resolve) => setTimeout(resolve, latencyMs))
    if (failure && !failure.afterEffect) throw new DriverError(failure.message, failure)
    const result = await effect()
    if (hang?.afterEffect) await hang.gate.pass()
    if (failure) throw new DriverError(failure.message, failure)
    return result
  }

  #takeFailure(method: FakeMethod): Required<FailOptions> | undefined {
    const failures = this.#failures.get(method)
    const failure = failures?.[0]
    if (!failures || !failure) return undefined
    if (failure.times > 1) failures[0] = { ...failure, times: failure.times - 1 }
    else failures.shift()
    return failure
  }
}

type Hang = { readonly gate: Gate; readonly afterEffect: boolean }

export class Gate implements Hold {
  readonly reached: Promise<void>
  readonly released: Promise<void>
  readonly release: () => void
  readonly #reach: () => void

  constructor(onRelease: () => void = () => {}) {
    const reached = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    this.reached = reached.promise
    this.released = released.promise
    this.release = () => {
      onRelease()
      released.resolve()
    }
    this.#reach = reached.resolve
  }

  pass(): Promise<void> {
    this.#reach()
    return this.released
  }
}
