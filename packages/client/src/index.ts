export { createLayout, layout } from './layout.js'
export type { Block, Card, Container, LaidTurn, Layout, ToolBlock, ToolStatus } from './layout-model.js'
export { LiveBlocks, type LiveBlock } from './live-blocks.js'
