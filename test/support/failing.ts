/** Makes file system calls of this process fail, as on a faulty disk. */
import fs from 'node:fs'
import promises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

type AnyCall = (...args: unknown[]) => unknown

/** Lets `name` and its synchronous variant fail with `code` for one path while `work` runs. */
export async function failing<T>(
  name: 'mkdir' | 'readdir' | 'stat',
  path: string,
  code: 'EMFILE' | 'EIO' | 'EACCES' | 'ENOENT' | 'EROFS',
  work: () => Promise<T>,
): Promise<T> {
  const asynchronous = promises as unknown as Record<string, AnyCall> // their overloads are all calls
  const synchronous = fs as unknown as Record<string, AnyCall> // the same
  const sister = `${name}Sync`
  const [first, second] = [asynchronous[name], synchronous[sister]]
  if (!first || !second) throw new Error(`There is no ${name}`)
  const fault = () => Object.assign(new Error(`${code}: ${name} '${path}'`), { code })
  asynchronous[name] = async (...args) => {
    if (args[0] === path) throw fault()
    return first(...args)
  }
  synchronous[sister] = (...args) => {
    if (args[0] === path) throw fault()
    return second(...args)
  }
  syncBuiltinESMExports()
  try {
    return await work()
  } finally {
    asynchronous[name] = first
    synchronous[sister] = second
    syncBuiltinESMExports()
  }
}
