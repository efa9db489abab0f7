# SPDX-License-Identifier: GPL-3.0-or-later
# One download of Lundsten in ns-2: ns lundsten_in_ns2.tcl LIBRARY NAME VALUE ... Reno of 2002 (what ns-2 has changed since is put back). Prints seconds,
# timeouts, halvings, packets sent again, packets dropped.
array set o {kbps 384 packet 576 window 25 errors 10 in_order 0 pdu_octets 0 packets 0 retransmission_s 0.059 bytes 16000000 tick_s 0.1 least_rto_s 0
    most_rto_s 60 one_way_ms 135 timestamps false rto_after_sample false seed 1}
array set o [lrange $argv 1 end]
load [lindex $argv 0] Radiolink
foreach {name value} {tti_ 0.02 retransdelay_ 0.059 speed_ 0 errorrate_ 0 in_order_ 0 pdu_octets_ 0 packets_ 0 dropped_ 0} {Queue/RadioLink set $name $value}
remove-all-packet-headers
add-packet-header Flags IP TCP
foreach {name value} [list tcpTick_ $o(tick_s) minrto_ $o(least_rto_s) maxrto_ $o(most_rto_s) timestamps_ $o(timestamps) timerfix_ $o(rto_after_sample) rfc2988_ false \
        syn_ false delay_growth_ false windowInit_ 1 singledup_ 1 useHeaders_ false precisionReduce_ false updated_rttvar_ false rtxcur_init_ 6.0 \
        exitFastRetrans_ false packetSize_ $o(packet) window_ $o(window)] {Agent/TCP set $name $value}
set ns [new Simulator]
$defaultRNG seed $o(seed)
set terminal [$ns node]; set base [$ns node]; set server [$ns node]
$ns duplex-link $server $base 100Mb [expr $o(one_way_ms) - 3]ms DropTail
$ns simplex-link $base $terminal 3Mb 3ms RadioLink
$ns simplex-link $terminal $base 100Mb 3ms DropTail
set link [[$ns link $base $terminal] queue]
foreach {name value} [list retransdelay_ $o(retransmission_s) speed_ [expr $o(kbps) * 1000] errorrate_ $o(errors) in_order_ $o(in_order) \
        pdu_octets_ $o(pdu_octets) packets_ $o(packets)] {$link set $name $value}
set tcp [new Agent/TCP/Reno]; set sink [new Agent/TCPSink]
$ns attach-agent $server $tcp; $ns attach-agent $terminal $sink; $ns connect $tcp $sink
set ftp [new Application/FTP]; $ftp attach-agent $tcp
$tcp proc done {} {
    global ns tcp link
    puts "[$ns now] [$tcp set nrexmit_] [$tcp set ncwndcuts_] [$tcp set nrexmitpack_] [$link set dropped_]"
    exit 0
}
$ns at 0 "$ftp produce [expr $o(bytes) / $o(packet)]"
$ns at 20000 {puts stderr "not over after 20000 s"; exit 1}
$ns run
