/** The address of a Grove elsewhere, and the token that it is shown, as the command line gives them. */
import { readRegular } from '../../../gitstore/regular-files.ts'
import { isLoopback } from '../../base/loopback.ts'
import { RemoteRefusal } from './client.ts'

/** Bytes of the file with the token. */
const maxTokenFileBytes = 65_536

/** Without a slash at its end. @throws RemoteRefusal */
export function addressOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw new RemoteRefusal(`--to ${text} is no address such as https://grove.example.org`)
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw new RemoteRefusal('--to takes the address of the service alone; the token is in the file of --token-file')
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    throw new RemoteRefusal(
      `--to ${text} would send the token readable for anyone on the way: https is needed, except to this machine`,
    )
  return url.href.replace(/\/+$/, '')
}

/** @throws RemoteRefusal */
export async function readToken(path: string): Promise<string> {
  const bytes = await readRegular(path, maxTokenFileBytes).catch((error: unknown) => {
    throw new RemoteRefusal(`--token-file ${path} cannot be read: ${error instanceof Error ? error.message : error}`)
  })
  if (bytes === undefined) throw new RemoteRefusal(`--token-file ${path} is not there`)
  if (typeof bytes === 'string') throw new RemoteRefusal(`--token-file ${path} ${bytes}`)
  const token = bytes.toString().trim()
  if (!/^[\x21-\x7e]{1,8192}$/.test(token)) throw new RemoteRefusal(`--token-file ${path} holds no token`)
  return token
}
