/** The quota of bytes: refuses changes that would exceed it, before they are written. */
import { encodeLoose } from '../../gitstore/objects/object-format.ts'
import type { PendingObject } from '../../gitstore/repo.ts'
import { measureRepo } from '../../gitstore/repo-bytes.ts'
import type { PushRoom } from '../../gitstore/transfer/smart-http.ts'
import { readUsage } from '../../index/derived/usage.ts'
import { AppError } from '../base/errors.ts'
import { orgRepo } from './layout.ts'
import { noticeNearlyFull, withLimits } from './quotas.ts'
import { type Hold, openHold } from './room.ts'
import type { Services } from './services.ts'

type ByteDeps = Pick<Services, 'config' | 'credentials' | 'index' | 'log' | 'metrics'>

/** Holds room for objects that are about to be written. @throws AppError quota_exceeded */
export type TakeRoom = (objects: Iterable<PendingObject>) => Promise<void>

/**
 * Runs `work`, which takes room for objects before it writes them, and indexes them. Without a limit it reads nothing
 * but that.
 *
 * @throws AppError quota_exceeded; errors of `work`
 */
export async function withByteRoom<T>(deps: ByteDeps, orgId: string, work: (take: TakeRoom) => Promise<T>): Promise<T> {
  const hold = holdOf(deps, orgId)
  const take: TakeRoom = async (objects) => {
    const all = [...objects]
    await withLimits(deps, orgId, async ({ bytes: limit }) => {
      if (limit === 0) return
      // Deflated, they are smaller. That is only computed if it decides.
      const used =
        (await tryFit(hold, sizeOf(all), limit)) ?? (await requireFit(hold, await deflatedSizeOf(all), limit))
      noticeNearlyFull(deps, { orgId, what: 'bytes', used, limit })
    })
  }
  try {
    return await work(take)
  } finally {
    hold.end('added')
  }
}

/**
 * Refuses a change whose size is not known if nothing is left.
 *
 * @param share the part of the quota that the change may use up
 * @param besides counts bytes that the index does not count
 * @throws AppError quota_exceeded
 */
export async function requireBytesLeft(
  deps: ByteDeps,
  orgId: string,
  { share = 1, besides = async () => 0 }: { readonly share?: number; readonly besides?: () => Promise<number> } = {},
): Promise<void> {
  await withLimits(deps, orgId, async ({ bytes: limit }) => {
    if (limit === 0) return
    const total = (await holdOf(deps, orgId).see()).total() + (await besides())
    if (total >= share * limit) throw bytesExceeded(total, limit)
  })
}

/** Bytes of a text that may still be written to a full organisation. */
const smallBytes = 1_024
/** The part of the quota up to which small changes are written. */
const smallShare = 1.1

/**
 * Refuses a long text if nothing is left. Refuses a short one if the quota is exceeded by a tenth, so that people can
 * talk about a full organisation.
 *
 * @throws AppError quota_exceeded
 */
export function requireRoomFor(deps: ByteDeps, orgId: string, text: string): Promise<void> {
  return requireBytesLeft(deps, orgId, { share: shareOf(text) })
}

/** Does the same for a change of org.git. Only this counts the bytes of org.git. @throws AppError quota_exceeded */
export function requireRoomInOrg(deps: ByteDeps & Pick<Services, 'store'>, orgId: string, text: string): Promise<void> {
  return requireBytesLeft(deps, orgId, {
    share: shareOf(text),
    besides: () => measureRepo(orgRepo(deps.store, orgId)),
  })
}

function shareOf(text: string): number {
  return Buffer.byteLength(text) > smallBytes ? 1 : smallShare
}

/** Room for one push. It ends when the index counts the push. */
export interface HeldPushRoom extends PushRoom {
  end(): void
}

/**
 * Opens room for a push, which gets what is left. Undefined without a limit.
 *
 * @param size the bytes of the request; undefined: the client does not say it
 * @throws AppError quota_exceeded
 */
export function openPushRoom(
  deps: ByteDeps,
  orgId: string,
  size: number | undefined,
): Promise<HeldPushRoom | undefined> {
  return withLimits(deps, orgId, async ({ bytes: limit }) => {
    if (limit === 0) return undefined
    const room = await pushRoomBelow(limit, holdOf(deps, orgId), size ?? 0)
    noticeNearlyFull(deps, { orgId, what: 'bytes', used: limit - room.left + (size ?? 0), limit })
    return room
  })
}

/** @param size the bytes that it holds from the start */
async function pushRoomBelow(limit: number, hold: Hold, size: number): Promise<HeldPushRoom> {
  const seen = await hold.see()
  const left = limit - seen.total()
  if (left <= 0) throw bytesExceeded(seen.total(), limit)
  if (size > left) throw bytesExceeded(seen.total(), limit, size)
  seen.hold(size)
  let held = size
  let received = 0
  let isCut = false
  return {
    left,
    received: (bytes) => {
      received += bytes
      const more = received - held
      if (more <= 0) return undefined
      held += more
      seen.hold(more)
      isCut ||= seen.total() > limit
      return isCut ? bytesExceeded(seen.total() - more, limit, more).message : undefined
    },
    end: () => hold.end(isCut ? 'nothing' : 'added'),
  }
}

function holdOf({ index }: ByteDeps, orgId: string): Hold {
  return openHold(`bytes ${orgId}`, async () => (await readUsage(index.read, orgId)).bytes)
}

/** Returns the bytes that are then used. Undefined if the change does not fit. */
async function tryFit(hold: Hold, size: number, limit: number): Promise<number | undefined> {
  const seen = await hold.see()
  if (seen.total() + size > limit) return undefined
  seen.hold(size)
  return seen.total()
}

/** Returns the bytes that are then used. @throws AppError quota_exceeded */
async function requireFit(hold: Hold, size: number, limit: number): Promise<number> {
  const seen = await hold.see()
  if (seen.total() + size > limit) throw bytesExceeded(seen.total(), limit, size)
  seen.hold(size)
  return seen.total()
}

/** Bytes of a file that is no longer than its content, with its header. */
const headerBytes = 32

function sizeOf(objects: readonly PendingObject[]): number {
  return objects.reduce((sum, { content }) => sum + content.length + headerBytes, 0)
}

async function deflatedSizeOf(objects: readonly PendingObject[]): Promise<number> {
  let bytes = 0
  for (const object of objects) bytes += (await encodeLoose(object)).length
  return bytes
}

function bytesExceeded(used: number, limit: number, more?: number): AppError {
  const rest = more === undefined ? 'nothing is left' : `${more} more do not fit`
  const detail = `The organisation has ${used} of at most ${limit} bytes, so ${rest}. Deleted nodes count until they are purged. Ask the operator to purge them, or for a higher quota`
  return new AppError('quota_exceeded', detail, { used, limit, what: 'bytes' })
}
