import { test } from 'node:test'
import { pathToFileURL } from 'node:url'

/*
 * Runs the test files of COMPUTER_TEST_FILES one after the other. Each is a test, and what it registers, such as its
 * tests and what it ends after them, belongs to that test.
 */

for (const path of JSON.parse(process.env['COMPUTER_TEST_FILES']!) as readonly string[]) {
  await test(path, async () => {
    const loading = import(pathToFileURL(path).href)
    // The tests of the file come after this one, so none begins before the whole file is loaded.
    await test('loads', () => loading)
  })
}
