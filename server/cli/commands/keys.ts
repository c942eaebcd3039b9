/** `grove keys`: the keys that sign tokens. */
import { rotateKeys } from '../../domain/accounts/key-rotation.ts'
import { type Call, printLine, requireFolder, withDeps } from './command.ts'

/** Services notice it within a minute. */
export async function rotate(call: Call, { now: immediately = false }: { readonly now?: boolean }): Promise<number> {
  await requireFolder(call.config.dataDir)
  return withDeps(call, async (deps) => {
    const { kid, signsFrom } = await rotateKeys(deps, { immediately })
    printLine(
      immediately
        ? `Key ${kid} signs now; all access tokens end within a minute, and sessions renew theirs`
        : `Key ${kid} is published within a minute and signs from ${signsFrom.toISOString()}; tokens of the key before stay good until they end`,
    )
    return 0
  })
}
