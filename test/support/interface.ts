/** Mocha's interface `bdd` with `it.deep`, which has tests of the deep tier. `npm test` does not register them. */

import mocha from 'mocha'
import { isDeep } from './seed.ts'

declare global {
  namespace Mocha {
    interface TestFunction {
      /** Describes a test that costs more than a second of CPU time. */
      deep(title: string, test: Func | AsyncFunc): void
    }
  }
}

export default function withDeepTests(root: Mocha.Suite): void {
  mocha.interfaces.bdd?.(root)
  root.on('pre-require', (context) => {
    context.it.deep = (title, test) => {
      if (isDeep) context.it(title, test)
    }
  })
}
