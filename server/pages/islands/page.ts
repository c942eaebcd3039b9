/** What every page does in a browser that runs scripts: keys, the colours, and search once it is touched. */

import { listenForKeys } from './keys.ts'

listenForKeys()
