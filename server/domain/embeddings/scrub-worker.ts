/** The thread that removes the bytes of deleted vectors. */
import { scrubVectors } from '../../../index/vectors/scrub.ts'
import { serveCalls } from '../worker-client.ts'
import type { ScrubCalls } from './scrub-thread.ts'

serveCalls<ScrubCalls>({ scrub: async (file) => scrubVectors(file) })
