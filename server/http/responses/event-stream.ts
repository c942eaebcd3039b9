/** Sends events as they happen, as `text/event-stream`. Source: https://html.spec.whatwg.org/multipage/server-sent-events.html */
import type { Request, Response } from 'express'
import { answerOf } from '../../base/error-mapping.ts'
import { ClientDisconnectedError, statusOf, ValidationError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { mostOpenFiles } from '../../base/open-files.ts'
import type { EventStream, StreamBatch } from '../../domain/events/stream.ts'
import { networkOf } from '../connection/addresses.ts'
import { disconnectSignal } from '../connection/disconnect.ts'
import { note, streamOp } from '../log/request-notes.ts'
import { stateOf } from '../request-state.ts'
import type { Followed } from './responses.ts'

/** Milliseconds, which tests shorten. */
export const streamTimes = {
  /** Between two signs of life. Proxies end connections that are silent for longer. */
  heartbeatMs: 15_000,
  /** For a client to read what was sent. */
  drainMs: limits.streamDrainMs as number,
}
/** Milliseconds after which a client connects again. */
const retryMs = 3_000
/** The part of the open files of this process that streams may use. All connections may use half. */
const ofFiles = 1 / 8

/**
 * Sends a stream until either side ends it. It also ends when the caller may no longer read it. The client then
 * connects again, and gets the error.
 *
 * @throws the errors of `open`, before the first byte
 */
export async function sendFollowed(
  req: Request,
  res: Response,
  { open }: Followed,
  expiresAt: number | undefined,
): Promise<void> {
  const files = Math.floor(mostOpenFiles() * ofFiles)
  const stream = await open({ lastEventId: req.get('Last-Event-ID'), expiresAt, files, from: networkOf(req) })
  const gone = disconnectSignal(req, res)
  gone.addEventListener('abort', () => stream.close(), { once: true })
  try {
    if (gone.aborted) throw gone.reason
    begin(req, res)
    if (req.method !== 'HEAD') await pass(stream, res)
  } catch (error) {
    if (!res.headersSent || !endsQuietly(error)) throw error
  } finally {
    stream.close()
  }
  res.end()
}

function begin(req: Request, res: Response): void {
  stateOf(req).isPacked = true
  note(req, { op: streamOp })
  res.setHeader('Content-Type', 'text/event-stream; charset=utf-8')
  res.setHeader('Cache-Control', 'no-store')
  // nginx would hold events back.
  res.setHeader('X-Accel-Buffering', 'no')
  res.status(200)
}

/** Writes batches. Reads the next one only when the client has taken this one. */
async function pass(stream: EventStream, res: Response): Promise<void> {
  // The id, so that a client whose connection breaks before the first event misses nothing.
  let written: Written | undefined = {
    cursor: stream.cursor,
    isTaken: res.write(`retry: ${retryMs}\nid: ${stream.cursor}\n\n`),
  }
  while (written !== undefined) {
    if (!written.isTaken) await drained(res)
    written = await writeNext(stream, res, written.cursor)
  }
}

interface Written {
  readonly cursor: string
  /** False if the client has to read first. */
  readonly isTaken: boolean
}

/** Writes the next batch. It is a function, so that nothing of the batch is in memory while a slow client reads. */
async function writeNext(stream: EventStream, res: Response, sent: string): Promise<Written | undefined> {
  const batch = await stream.next(streamTimes.heartbeatMs)
  return batch && { cursor: batch.cursor, isTaken: res.write(textOf(batch, sent)) }
}

/** The text of a batch. An empty one is a comment, with the cursor if a filter has hidden events. */
function textOf({ events, cursor }: StreamBatch, sent: string): string {
  const blocks = events.map((event) => `id: ${event.cursor}\nevent: ${event.type}\ndata: ${event.body}\n\n`)
  const last = events.at(-1)?.cursor ?? sent
  if (last !== cursor) blocks.push(`id: ${cursor}\n\n`)
  return blocks.length > 0 ? blocks.join('') : ': \n\n'
}

/** Resolves when the client has read what was sent. @throws ClientDisconnectedError: it is gone, or too slow */
function drained(res: Response): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (isRead: boolean) => {
      clearTimeout(timer)
      res.off('drain', read)
      res.off('close', left)
      if (isRead) resolve()
      else reject(new ClientDisconnectedError())
    }
    const read = () => settle(true)
    const left = () => settle(false)
    const timer = setTimeout(() => {
      res.socket?.resetAndDestroy()
      settle(false)
    }, streamTimes.drainMs)
    res.on('drain', read)
    res.on('close', left)
    if (res.closed || res.destroyed) settle(false)
  })
}

/** True for refusals: the client gets them when it connects again. Faults of the service are reported. */
function endsQuietly(error: unknown): boolean {
  const meaning = answerOf(error)
  if (meaning === undefined || meaning instanceof ValidationError) return false
  return (
    statusOf[meaning.code] < 500 || ['busy', 'moving', 'draining', 'org_needs_newer_version'].includes(meaning.code)
  )
}
