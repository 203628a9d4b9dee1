import type { MachineDriver } from '../drivers/machine-driver.ts'
import type { Metrics } from './metrics.ts'

/** The same driver; its calls are timed by method. */
export function measureDriver(
  driver: MachineDriver,
  { timeEngineCall }: Pick<Metrics, 'timeEngineCall'>,
): MachineDriver {
  return new Proxy(driver, {
    get(_target, key) {
      const method: unknown = Reflect.get(driver, key)
      if (typeof method !== 'function' || typeof key !== 'string' || key === 'watch') return method
      return (...args: unknown[]) => timeEngineCall(key, () => Reflect.apply(method, driver, args))
    },
  })
}
