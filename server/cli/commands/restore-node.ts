/** `grove restore-node`: restores a deleted node from the trash. */
import { isId } from '../../domain/layout.ts'
import { restoreNode } from '../../domain/operator/trash.ts'
import { type Call, printLine, requireFolder, UsageError, withDeps } from './command.ts'

/** @param path `<org id>/<node id>`, as in the node's URLs and in the trash */
export async function restoreNodeAt(call: Call, path: string): Promise<number> {
  const [orgId = '', nodeId = '', more] = path.replace(/\.git$/, '').split('/')
  if (!isId(orgId) || !isId(nodeId) || more !== undefined) throw new UsageError(`${path} is not ORG_ID/NODE_ID`)
  await requireFolder(call.config.dataDir)
  return withDeps(call, async (deps) => {
    const obstacle = await restoreNode(deps, { org_id: orgId, node_id: nodeId })
    const said = `${orgId}/${nodeId} cannot be restored: ${obstacle?.reason}`
    if (obstacle?.kind === 'mistake') throw new UsageError(said)
    if (obstacle?.kind === 'conflict') {
      printLine(said)
      return 1
    }
    printLine(`${orgId}/${nodeId} was restored`)
    return 0
  })
}
