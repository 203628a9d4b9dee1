import type { MachineDriver } from '../drivers/machine-driver.ts'
import { isTracing, rowOf, span } from './span.ts'

/** The same driver; each of its calls is a span with the id of its machine, image or capture. */
export function traceDriver(driver: MachineDriver): MachineDriver {
  if (!isTracing()) return driver
  return new Proxy(driver, {
    get(_target, key) {
      const method: unknown = Reflect.get(driver, key)
      if (typeof method !== 'function' || typeof key !== 'string' || key === 'watch') return method
      return (...args: unknown[]) =>
        span(`driver ${key}`, rowOf(args[0]), () => Reflect.apply(method, driver, args))
    },
  })
}
