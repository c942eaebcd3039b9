/** `grove keys`: manages the keys that sign tokens. */
import { rotateKeys } from '../../domain/accounts/key-rotation.ts'
import { type Call, printLine, requireFolder, withDeps } from './command.ts'

/** Creates a new key. Services notice it within a minute. */
export async function rotate(call: Call, { now: immediately = false }: { readonly now?: boolean }): Promise<number> {
  await requireFolder(call.config.dataDir)
  return withDeps(call, async (deps) => {
    const { kid, signsFrom } = await rotateKeys(deps, { immediately })
    printLine(
      immediately
        ? `Key ${kid} signs now. All access tokens expire within a minute, and sessions renew theirs`
        : `Key ${kid} is published within a minute and signs after ${signsFrom.toISOString()}. Tokens of the previous key stay valid until they expire`,
    )
    return 0
  })
}
