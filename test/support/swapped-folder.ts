/** Swaps a folder with a link to another one, at the worst moment. */
import { preload } from './preload.ts'

interface Swap {
  readonly folder: string
  /** The target of the link. */
  readonly outside: string
}

/**
 * The environment of a command during which a folder is swapped. The folder is a link while files in it are opened, or
 * while it is listed. It is a folder at all other times.
 *
 * @param hasPlaces false to behave as on a system without /proc
 */
export function swappedDuring(what: 'files' | 'listing', swap: Swap, hasPlaces = true) {
  return preload(`
    ${swapScript(swap)}
    let running = 0
    const isMeant = (path) => ${what === 'listing' ? 'path === folder' : "String(path).startsWith(folder + '/')"}
    for (const name of ['open', 'readdir']) {
      const original = promises[name]
      promises[name] = async (path, ...more) => {
        if (!isMeant(String(path).replace(/\\/$/, ''))) return original(path, ...more)
        if (running++ === 0) putLink()
        return original(path, ...more).finally(() => { if (--running === 0) putBack() })
      }
    }
    if (${!hasPlaces}) {
      const { statSync } = fs
      fs.statSync = (path, ...more) => path === '/proc/self/fd' ? undefined : statSync(path, ...more)
    }
    syncBuiltinESMExports()`)
}

/**
 * The environment of a command that permanently replaces the folder by a link. That happens when it opens a file with
 * this name.
 */
export function swappedBeforeOpen(name: RegExp, swap: Swap) {
  return preload(`
    ${swapScript(swap)}
    const { open } = promises
    let isSwapped = false
    promises.open = async (path, ...more) => {
      if (!isSwapped && ${name}.test(String(path)) && fs.existsSync(folder)) {
        isSwapped = true
        putLink()
      }
      return open(path, ...more)
    }
    syncBuiltinESMExports()`)
}

function swapScript({ folder, outside }: Swap): string {
  return `
    import fs from 'node:fs'
    import promises from 'node:fs/promises'
    import { syncBuiltinESMExports } from 'node:module'
    const folder = ${JSON.stringify(folder)}
    const putLink = () => {
      fs.renameSync(folder, folder + '.aside~')
      fs.symlinkSync(${JSON.stringify(outside)}, folder)
    }
    const putBack = () => {
      fs.unlinkSync(folder)
      fs.renameSync(folder + '.aside~', folder)
    }`
}
