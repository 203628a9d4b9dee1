/**
 * Runs a step of the boot and logs its failure instead of throwing. The machine's root could cause
 * the failure, and it must not keep the machine from booting.
 */
export async function attempt(what: string, work: () => void | Promise<void>): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    console.error(`could not ${what}`, error)
    return false
  }
}
