/** Marks single tests of a file as deep. They need their neighbours' scene, and cost more than a second of CPU time. */

import { isDeep } from './seed.ts'

/** `it` in the deep tier. `npm test` does not have the test. */
export const deepTest = (title: string, test: Mocha.AsyncFunc | Mocha.Func): void => {
  if (isDeep) it(title, test)
}
