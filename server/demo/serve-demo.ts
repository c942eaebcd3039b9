/** Runs a demo: fills its folder, and lets a browser change between its users. */

import type { Config } from '../base/config.ts'
import { run } from '../process/main.ts'
import { finishDemo, type Made } from './demo-folder.ts'
import { fillDemo } from './fill-demo.ts'
import { greeting, people } from './people.ts'

/** Runs the demo. Fills its folder first if there is no demo yet. */
export function serveDemo(given: Config, made: Made | undefined): Promise<void> {
  return run(
    () => given,
    async (config, start) => {
      if (made === undefined) process.stdout.write('Writing the demo: 65 pages and half a year of history …\n')
      const org = made?.org ?? (await fillDemo(config, start))
      if (made === undefined) await finishDemo(config.dataDir, { org })
      return { notice: { org, accounts: Object.values(people) }, greet: (url) => greeting(url, org) }
    },
  )
}
