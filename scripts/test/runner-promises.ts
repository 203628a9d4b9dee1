import asyncHooks from 'node:async_hooks'

/*
 * Node's test runner notes which test each promise belongs to. In a process that loads this module first,
 *
 * - the runner forgets the oldest promises. Otherwise it lets the garbage collector tell it when a promise is gone,
 *   which takes up to half the time of a file. An error of one that is forgotten fails the file and names no test.
 * - a promise belongs to the test that makes it. Otherwise a test that awaits the promise of another one goes on as
 *   that other one, so that hooks which it registers from then on never run.
 */

/** A test waits for promises that are younger than so many others. */
const remembered = 2 ** 17

const { createHook } = asyncHooks
asyncHooks.createHook = (callbacks) => {
  const isOfRunner = new Error().stack?.includes('node:internal/test_runner/') ?? false
  return createHook(isOfRunner ? forgetOldest(fromMaker(callbacks)) : callbacks)
}

/** The same callbacks, to which a promise comes from what makes it, and not from the promise that that awaits. */
function fromMaker({ init, ...others }: asyncHooks.HookCallbacks): asyncHooks.HookCallbacks {
  return {
    ...others,
    init(asyncId, type, triggerAsyncId, resource) {
      const from = type === 'PROMISE' ? asyncHooks.executionAsyncId() : triggerAsyncId
      init?.(asyncId, type, from, resource)
    },
  }
}

/** The same callbacks for a hook that does not hear when a resource is gone. */
function forgetOldest({ init, destroy }: asyncHooks.HookCallbacks): asyncHooks.HookCallbacks {
  const ids = new Float64Array(remembered)
  let next = 0
  return {
    init(asyncId, type, triggerAsyncId, resource) {
      init?.(asyncId, type, triggerAsyncId, resource)
      // The resources of tests themselves are few, and the runner keeps them.
      if (type === 'Test') return
      const oldest = ids[next]!
      if (oldest > 0) destroy?.(oldest)
      ids[next] = asyncId
      next = (next + 1) % remembered
    },
  }
}
